-- Is there a root with this id that is not deleted?
--
-- INCLUDE status_of is_below
-- KEYS    bodies  hash  comment id -> JSON, of which nothing is read but its author and root
--         held    hash  comment id -> its status and mark

local function is_root(id)
  local stored = redis.call('HGET', bodies, id)
  return stored and is_below(stored, '', '') and status_of(id) ~= 'deleted'
end
