-- Change many counters in one step, none of them below zero.
--
-- KEYS    counts...   hash  {c}:counts or {c}:long  "<counter> <path>" -> count; one key a change
-- ARGV    changes...  text  field and delta, in turn, one pair a change
-- RETURNS counts            the new values, in the order of the changes
-- COST    O(changes)

local counts, changes = KEYS, ARGV
local answers = {}

for i = 1, #counts do
  local field, delta = changes[2 * i - 1], changes[2 * i]
  -- A decrement must not create a field, or strangers could fill the memory with zeros.
  if tonumber(delta) < 0 and redis.pcall('HEXISTS', counts[i], field) == 0 then
    answers[i] = 0
  else
    -- pcall, because a damaged counter must not stop the changes after it.
    local count = redis.pcall('HINCRBY', counts[i], field, delta)
    if type(count) == 'number' and count < 0 then
      redis.call('HSET', counts[i], field, 0)
      count = 0
    end
    answers[i] = count
  end
end
return answers
