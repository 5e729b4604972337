-- Store sums of the site's statistics where they exceed the stored ones.
--
-- KEYS    sums        hash  {site}:views:<month> or {site}:sources:<day>
-- ARGV    kept_ms     int   ms to keep them
--         counted...[2] text  field and number, in turn
-- RETURNS changed           number of raised fields
-- FLAGS   no-promise
-- COST    O(counted)

local changed = 0

-- Sums only rise. So a service that reads the shares while another removes them, and gets
-- less, changes nothing.
for i = ARGV_BEFORE + 1, #counted, ARGV_EACH do
  local known = tonumber(redis.call('HGET', sums, counted[i]) or 0)
  if not known or known < tonumber(counted[i + 1]) then
    redis.call('HSET', sums, counted[i], counted[i + 1])
    changed = changed + 1
  end
end
redis.call('PEXPIRE', sums, kept_ms)
return changed
