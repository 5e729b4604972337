-- KEYS counts of each change; ARGV field, delta of each. RETURNS the new counts, none below zero.
local answers = {}
for i, counts in ipairs(KEYS) do
  local field, delta = ARGV[2 * i - 1], ARGV[2 * i]
  local count = redis.call('HINCRBY', counts, field, delta)
  if count < 0 then
    redis.call('HSET', counts, field, 0)
    count = 0
  end
  answers[i] = count
end
return answers
