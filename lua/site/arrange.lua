-- Take a step in changing how many buckets counters are spread over, unless somebody else did.
--
-- KEYS    format      hash  {site}:format
-- ARGV    generation  int   how often that was changed before
--         buckets     int   how many there shall be
--         is_done     flag  all counters lie in them
-- RETURNS buckets generation next  as it is now; next is empty unless counters are being moved
-- COST    O(1)

local format = KEYS[1]
local generation, buckets, is_done = ARGV[1], ARGV[2], ARGV[3]

local found = redis.call('HMGET', format, 'buckets', 'generation', 'next')
local now, so_often, next = found[1], found[2] or '0', found[3] or ''

if so_often == generation then
  if is_done == '1' and next == buckets then
    now, so_often, next = buckets, so_often + 1, ''
    redis.call('HSET', format, 'buckets', now, 'generation', so_often, 'next', next)
  elseif is_done == '0' and next == '' and now ~= buckets then
    next = buckets
    redis.call('HSET', format, 'next', next)
  end
end
return { now, tostring(so_often), next }
