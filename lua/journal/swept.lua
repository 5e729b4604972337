-- Note when a page's next removals are due, unless the site has followed another change of it.
--
-- KEYS    totals    hash    {site}:totals
--         removals  zset    {site}:removals
-- ARGV    page      text    digest
--         known     text    the page's entry of `totals` before its deleted comments were read
--         due       int     ms since the epoch; 0: there are none
-- RETURNS OK
--         OVERTAKEN         the page has changed: read it again
-- FLAGS   no-promise
-- COST    O(log n)

if (redis.call('HGET', totals, page) or '') ~= known then
  return {'OVERTAKEN'}
end
if due == '0' then
  redis.call('ZREM', removals, page)
else
  redis.call('ZADD', removals, due, page)
end
return {'OK'}
