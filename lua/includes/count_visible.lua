-- The number of approved comments that a page shows.
--
-- KEYS    bodies  hash  comment id -> JSON
--         held    hash  comments that are not approved
--         hidden  hash  how many replies below deleted roots are still in the indexes: `approved`
--                       and `held`

local function count_visible()
  local count = redis.call('HLEN', bodies) - redis.call('HLEN', held)
  return count - tonumber(redis.call('HGET', hidden, 'approved') or 0)
end
