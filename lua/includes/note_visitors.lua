-- Note visitors by their numbers of the day, and count them: exactly up to `most`. Returns the bytes that the new ones
-- take, about.
-- ARGV    day_ms      int   ms to keep such numbers
-- INCLUDE sketch

-- A number in a small set, or in a sketch; and the key.
local NUMBER_BYTES, KEY_BYTES = 8, 200

-- pcall, because damaged statistics must not stop what counts. The set expires from its first visitor on, and where
-- `expires`, since a restored day has more visitors than its set.
local function note_visitors(index, total, field, most, numbers, expires)
  local new = redis.pcall('SADD', index, unpack(numbers))
  if new == 0 then
    return 0
  end
  if type(new) == 'number' then
    local known = redis.pcall('HINCRBY', total, field, new)
    if expires or known == new or type(known) ~= 'number' then
      redis.call('PEXPIRE', index, day_ms)
    end
    if type(known) == 'number' and known > most then
      sketch(index)
    end
    return new * NUMBER_BYTES + (known == new and KEY_BYTES or 0)
  elseif redis.pcall('PFADD', index, unpack(numbers)) == 1 then
    local told = redis.pcall('HGET', total, field)
    local before = type(told) ~= 'table' and tonumber(told or 0) or 0
    -- To count those of a sketch takes longer than all else. So that is left to one of so many visitors, by his number,
    -- that about a four hundredth is missing.
    local digits = tonumber(string.sub(numbers[1], -4)) or 0
    if not expires and digits % math.ceil(before / 400 / #numbers) ~= 0 then
      return NUMBER_BYTES
    end
    local known = redis.pcall('PFCOUNT', index)
    if type(known) == 'number' and type(told) ~= 'table' then
      -- Not below `most`, which would look exact; nor fewer than before, since for a restored day
      -- more visitors were counted than there are numbers.
      redis.pcall('HSET', total, field, math.max(known, most + 1, before))
    end
    return NUMBER_BYTES
  end
  return 0
end
