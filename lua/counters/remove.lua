-- Remove counters unless they have changed since they were read.
--
-- KEYS    numbers    hash  {c}:numbers  kind of hash -> how many counters the group has in those
--         counts     hash  {c}:counts or {c}:long  "<counter> <path>" -> count
-- ARGV    judged...  text  field and count, in turn
-- RETURNS removed          how many were removed
-- INCLUDE kind_of
-- COST    O(judged)

local numbers, counts = KEYS[1], KEYS[2]
local judged = ARGV

local removed = 0

for i = 1, #judged, 2 do
  if redis.call('HGET', counts, judged[i]) == judged[i + 1] then
    removed = removed + redis.call('HDEL', counts, judged[i])
  end
end
if removed > 0 then
  redis.pcall('HINCRBY', numbers, kind_of(counts), -removed)
end
return removed
