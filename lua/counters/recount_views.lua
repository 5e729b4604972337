-- Add up a group's view counters, and compare that with the stored sum.
--
-- KEYS    numbers    hash  {c}:numbers  views -> the sum of the group's view counters, among others
--         counts...  hash  {c}:counts and {c}:long, all of the group
-- ARGV    mends      flag  correct the sum
-- RETURNS found            the stored sum, and the true one
-- COST    O(counters of the group)

local numbers, counts = KEYS[1], KEYS
local mends = ARGV[1]

local KEYS_BEFORE, STEP, MOST_DIGITS = 1, 1000, 16
local sum = 0

-- In one step, so that no view comes in between.
for i = KEYS_BEFORE + 1, #counts do
  local cursor = '0'
  repeat
    local step = redis.pcall('HSCAN', counts[i], cursor, 'COUNT', STEP)
    if step.err then
      -- A key of another type has no counters; add up the others.
      if not string.find(step.err, 'WRONGTYPE', 1, true) then
        return step
      end
      step = {'0', {}}
    end
    local words = step[2]
    for j = 1, #words, 2 do
      local count = words[j + 1]
      -- A value that is not a count is damaged.
      local is_count = #count <= MOST_DIGITS and string.find(count, '^%d+$')
      if is_count and string.sub(words[j], 1, 5) == 'time ' then
        sum = sum + tonumber(count)
      end
    end
    cursor = step[1]
  until cursor == '0'
end
local found = string.format('%.0f', sum)
local kept = redis.pcall('HGET', numbers, 'views') or '0'
local is_hash = type(kept) == 'string'
if not is_hash then
  kept = '0'
end
if mends == '1' and kept ~= found then
  -- Something else may be stored under this name.
  if not is_hash then
    redis.call('DEL', numbers)
  end
  redis.call('HSET', numbers, 'views', found)
end
return {kept, found}
