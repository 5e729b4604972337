-- Take tokens from buckets, which fill again with time.
--
-- KEYS    buckets...  string  {i}:tokens  time in µs when it is full; expires then
-- ARGV    spends...[4]  int   of each bucket in turn: now, tokens (below 0: they are returned), µs for one
--                             token, µs for a full bucket
-- RETURNS waits               for each bucket 0 if the tokens were taken; else ms until there are enough
-- FLAGS   no-promise
-- COST    O(buckets)

local waits = {}

for i = 1, #buckets do
  local now, tokens, each, all = unpack(spends, ARGV_EACH * (i - 1) + 1, ARGV_EACH * i)
  -- Services' clocks differ a little, so a bucket's time never goes back.
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
