-- Note what was added to a counter of views that are of no day. The hour is open afterwards: a process may know that it
-- was, of a counter that was removed since.
-- ARGV    hour        int   such as 2026112316
--         days_ms     int   ms to keep the month
-- INCLUDE opened

-- pcall, because damaged statistics must not stop what counts; what it lets through is a hash.
local function note_undated(days, count, added)
  local known = redis.pcall('HINCRBY', days, 'undated', added)
  if known == added and redis.call('HSETNX', days, 'base', count - added) == 1 then
    redis.call('PEXPIRE', days, days_ms)
  end
  local open, before = opened(days)
  redis.pcall('HSET', days, 'open', string.format('%s %.0f', open or hour, open and before + added or count))
end
