-- Remove counters unless they have changed since they were read.
--
-- KEYS    numbers    hash  {c}:numbers  kind of hash -> number of its counters, and
--                          views -> a share of the sum of all view counters
--         counts     hash  {c}:counts or {c}:long  "<counter> <path>" -> count
-- ARGV    judged...[2] text  field and count, in turn
-- RETURNS removed          number of removed counters
-- INCLUDE kind_of
-- COST    O(judged)

local removed, views = 0, 0

for i = 1, #judged, ARGV_EACH do
  if redis.call('HGET', counts, judged[i]) == judged[i + 1] then
    removed = removed + redis.call('HDEL', counts, judged[i])
    if string.sub(judged[i], 1, 5) == 'time ' then
      -- A value that is not a number is damaged.
      views = views + (tonumber(judged[i + 1]) or 0)
    end
  end
end
if removed > 0 then
  redis.pcall('HINCRBY', numbers, kind_of(counts), -removed)
end
if views > 0 then
  redis.pcall('HINCRBY', numbers, 'views', string.format('%.0f', -views))
end
return removed
