-- Is there a root with this id that is not deleted? The body of each reply names its root. Quotes in
-- texts are escaped there, so no text can look like that.
--
-- INCLUDE status_of
-- KEYS    bodies  hash  comment id -> JSON, of which only author and root are read
--         held    hash  comment id -> its status and mark

local function is_root(id)
  local stored = redis.call('HGET', bodies, id)
  local is_reply = stored and string.find(stored, '","rid":"', 1, true)
  return stored and not is_reply and status_of(id) ~= 'deleted'
end
