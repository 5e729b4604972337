-- Turn a set of visitors' numbers into a sketch, which counts any number of them with a standard error of 0.81 %.
-- ARGV    day_ms      int   ms to keep such numbers

-- pcall, because a Redis user without permission must still count.
local function sketch(index)
  -- It is still a set, and the user may make a sketch. Without that permission the set stays:
  -- if it were removed, its visitors would be counted again.
  local refused = redis.pcall('PFADD', index, 0)
  local may = type(refused) == 'table' and string.find(refused.err, 'WRONGTYPE', 1, true)
  local numbers = may and redis.pcall('SMEMBERS', index)
  if numbers and not numbers.err then
    redis.pcall('DEL', index)
    for i = 1, #numbers, 1000 do
      redis.pcall('PFADD', index, unpack(numbers, i, math.min(i + 999, #numbers)))
    end
    redis.call('PEXPIRE', index, day_ms)
  end
end
