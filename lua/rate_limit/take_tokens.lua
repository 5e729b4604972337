-- Take tokens from addresses' buckets, each of which fills again as time goes by.
--
-- KEYS    buckets...  string  {i}:tokens or {i}:newtokens  µs at which one is full again; gone then
-- ARGV    spends...   int     four a bucket: now, tokens, µs that one takes to come back, µs that all do
-- RETURNS waits               0 where they were taken; otherwise none was: ms until they are there
-- FLAGS   no-promise
-- COST    O(buckets)

local buckets, spends = KEYS, ARGV
local waits = {}

for i = 1, #buckets do
  local now, tokens, each, all = unpack(spends, 4 * i - 3, 4 * i)
  -- The clocks of several services differ a little; a bucket's goes forward only.
  local full = math.max(tonumber(redis.call('GET', buckets[i]) or 0), tonumber(now))
  full = full + tokens * each
  local missing = full - now - all
  if missing > 0 then
    waits[i] = math.ceil(missing / 1000)
  else
    local left = math.max(1, math.ceil((full - now) / 1000))
    redis.call('SET', buckets[i], string.format('%.0f', full), 'PX', left)
    waits[i] = 0
  end
end
return waits
