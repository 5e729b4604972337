-- Change a counter, not below zero. Its new value, and what was added; or the error of a damaged one.
-- INCLUDE kind_of

-- The largest count, as in counting/names.py: a counter stops there.
local MOST_COUNT = 9007199254740991

local function change(counts, numbers, field, delta)
  local step = tonumber(delta)
  -- Only an increment may create a field. Otherwise, visitors could fill the memory with zeros.
  if step < 1 and redis.pcall('HEXISTS', counts, field) == 0 then
    return 0, 0
  end
  -- pcall, because a damaged counter or number must not stop the changes after it.
  local count = redis.pcall('HINCRBY', counts, field, delta)
  if type(count) ~= 'number' then
    return count, 0
  end
  if count > MOST_COUNT then
    redis.call('HINCRBY', counts, field, -step)
    return count - step, 0
  end
  if count <= 0 and step < 1 then
    -- A count of zero is not stored. So a count that equals its step is new, and the common
    -- change of an existing counter needs no other command.
    redis.pcall('HDEL', counts, field)
    redis.pcall('HINCRBY', numbers, kind_of(counts), -1)
    return 0, step - count
  elseif count == step then
    redis.pcall('HINCRBY', numbers, kind_of(counts), 1)
  elseif count < step then
    -- It was below zero, which only damage causes. One step may add several visitors' increments,
    -- and each gets its own count.
    redis.pcall('HSET', counts, field, delta)
    return step, step
  end
  return count, step
end
