-- Write down how many approved comments a page has, or add up what is written down.
--
-- KEYS    totals   hash    {site}:totals  page -> "<version> <approved comments>"
--         total    string  {site}:total   approved comments of the site
-- ARGV    page     text    digest; empty: add up
--         version  int     the page's when it was counted; an older one changes nothing
--         visible  int     approved comments of the page; negative: there is no such page
-- RETURNS OK total         approved comments of the site, as far as they are added up
-- COST    O(1), or O(pages) to add up

local totals, total = KEYS[1], KEYS[2]
local page, version, visible = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

if page == '' then
  local sum = 0
  for _, known in ipairs(redis.call('HVALS', totals)) do
    sum = sum + tonumber(string.match(known, '^%d+ (%d+)$'))
  end
  redis.call('SET', total, sum)
elseif visible < 0 then
  redis.call('HDEL', totals, page)
else
  local known = redis.call('HGET', totals, page) or '0 0'
  if version >= tonumber(string.match(known, '^(%d+) ')) then
    redis.call('HSET', totals, page, version .. ' ' .. visible)
  end
end
return {'OK', tonumber(redis.call('GET', total) or 0)}
