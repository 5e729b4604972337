-- Read many counters in one call.
--
-- KEYS    counts...  hash  {c}:counts, {c}:long or {c}:trial  "<counter> <path>" -> count; one key a counter
-- ARGV    fields...  text  one field a counter
-- RETURNS counts           numbers, in the order asked for; 0 where there is none
-- FLAGS   no-writes
-- COST    O(counters)

local counts, fields = KEYS, ARGV
local answers = {}

for i = 1, #counts do
  -- Caught: a counter that somebody damaged is its readers' loss, not everybody's.
  local count = redis.pcall('HGET', counts[i], fields[i])
  if type(count) == 'table' then
    answers[i] = count
  else
    answers[i] = tonumber(count or 0) or redis.error_reply('ERR this is no count')
  end
end
return answers
