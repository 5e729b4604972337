-- Set how many approved comments a page has, where that is missing or wrong.
--
-- KEYS    totals   hash    {site}:totals  page -> "<version> <approved comments>"
-- ARGV    page     text    digest
--         version  int     the page's version at the count; an older one than stored has no effect
--         visible  int     approved comments of the page; negative: remove the page
-- RETURNS OK
-- COST    O(1)

local totals = KEYS[1]
local page, version, visible = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

if visible < 0 then
  redis.call('HDEL', totals, page)
else
  local known = redis.call('HGET', totals, page) or '0 0'
  if version >= tonumber(string.match(known, '^(%d+) ') or 0) then
    redis.call('HSET', totals, page, version .. ' ' .. visible)
  end
end
return {'OK'}
