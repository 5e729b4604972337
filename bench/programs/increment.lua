-- KEYS counts; ARGV field, delta. RETURNS the new count, never below zero.
local count = redis.call('HINCRBY', KEYS[1], ARGV[1], ARGV[2])
if count < 0 then
  redis.call('HSET', KEYS[1], ARGV[1], 0)
  count = 0
end
return count
