-- Remove events of a page that are in the site's outbox.
--
-- KEYS    outbox  stream  {p}:outbox
-- ARGV    ids...  text    of entries
-- RETURNS OK
-- FLAGS   no-promise
-- COST    O(ids)

local outbox = KEYS[1]
local ids = ARGV

redis.call('XDEL', outbox, unpack(ids))
if redis.call('XLEN', outbox) == 0 then
  redis.call('DEL', outbox)
end
return {'OK'}
