-- Remove counters unless they have changed since they were read.
--
-- KEYS    counts     hash  {c}:counts or {c}:long  "<counter> <path>" -> count
-- ARGV    judged...  text  field and count, in turn
-- RETURNS removed          how many were removed
-- COST    O(judged)

local counts = KEYS[1]
local judged = ARGV
local removed = 0

for i = 1, #judged, 2 do
  if redis.call('HGET', counts, judged[i]) == judged[i + 1] then
    removed = removed + redis.call('HDEL', counts, judged[i])
  end
end
return removed
