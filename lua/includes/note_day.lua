-- Note what was added to a counter of views: on a day, or as undated. Returns its new value, if it is not damaged.
-- ARGV    days_ms     int   ms to keep the month

local function note_day(index, field, count, added)
  -- pcall, because damaged statistics must not stop what counts; what it lets through is a hash.
  local known = redis.pcall('HINCRBY', index, field, added)
  if known == added and redis.call('HSETNX', index, 'base', count - added) == 1 then
    redis.call('PEXPIRE', index, days_ms)
  end
  return type(known) == 'number' and known or 0
end
