-- Keep how often the site was viewed in hours that are over, if that is more than is known.
--
-- KEYS    hours       hash  {site}:hours:<month>  hour -> views
-- ARGV    kept_ms     int   for which they are kept
--         counted...  int   hour and views, in turn
-- RETURNS changed           how many hours have more
-- FLAGS   no-promise
-- COST    O(counted)

local hours = KEYS[1]
local kept_ms, counted = ARGV[1], ARGV

local FIRST = 2
local changed = 0

-- Views of an hour only become more. So who has read the parts while another removes them, and has
-- less, spoils nothing.
for i = FIRST, #counted, 2 do
  local known = tonumber(redis.call('HGET', hours, counted[i]) or 0)
  if not known or known < tonumber(counted[i + 1]) then
    redis.call('HSET', hours, counted[i], counted[i + 1])
    changed = changed + 1
  end
end
redis.call('PEXPIRE', hours, kept_ms)
return changed
