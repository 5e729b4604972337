-- Turn a set of visitors' numbers into a sketch, which counts any number of them within 0.81 %.
-- ARGV    day_ms      int   for which such numbers are kept

-- pcall, because a user who may not must not stop what counts.
local function sketch(index)
  local numbers = redis.pcall('SMEMBERS', index)
  if not numbers.err then
    redis.call('DEL', index)
    for i = 1, #numbers, 1000 do
      redis.pcall('PFADD', index, unpack(numbers, i, math.min(i + 999, #numbers)))
    end
    redis.call('PEXPIRE', index, day_ms)
  end
end
