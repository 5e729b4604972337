-- Write down how many approved comments a page has, where that is not known or wrong.
--
-- KEYS    totals   hash    {site}:totals  page -> "<version> <approved comments>"
-- ARGV    page     text    digest
--         version  int     the page's when it was counted; an older one changes nothing
--         visible  int     approved comments of the page; negative: there is no such page
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
