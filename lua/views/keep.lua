-- Keep the sums of shares of the site's statistics, where they are more than what is known.
--
-- KEYS    sums        hash  {site}:views:<month> or {site}:sources:<day>
-- ARGV    kept_ms     int   for which they are kept
--         counted...  text  field and number, in turn
-- RETURNS changed           how many fields have more
-- FLAGS   no-promise
-- COST    O(counted)

local sums = KEYS[1]
local kept_ms, counted = ARGV[1], ARGV

local FIRST = 2
local changed = 0

-- They only become more. So who has read the shares while another removes them, and has
-- less, spoils nothing.
for i = FIRST, #counted, 2 do
  local known = tonumber(redis.call('HGET', sums, counted[i]) or 0)
  if not known or known < tonumber(counted[i + 1]) then
    redis.call('HSET', sums, counted[i], counted[i + 1])
    changed = changed + 1
  end
end
redis.call('PEXPIRE', sums, kept_ms)
return changed
