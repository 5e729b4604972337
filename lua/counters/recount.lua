-- Count a group's counters by the lengths of its hashes, and compare that with the stored numbers.
--
-- KEYS    numbers    hash  {c}:numbers  kind of hash -> number of its counters;
--                          the share of the views stays
--         counts...  hash  {c}:counts and {c}:long, all of the group
-- ARGV    mends      flag  correct the numbers
-- RETURNS found            of each kind in turn: its name, the stored number, and the true one
-- INCLUDE kind_of
-- FLAGS   no-promise
-- COST    O(hashes)

local lengths = {}

for i = KEYS_BEFORE + 1, #counts do
  local kind, length = kind_of(counts[i]), redis.pcall('HLEN', counts[i])
  if type(length) == 'table' then
    -- A key of another type has no counters; count the others.
    if not string.find(length.err, 'WRONGTYPE', 1, true) then
      return length
    end
    length = 0
  end
  lengths[kind] = (lengths[kind] or 0) + length
end
local found, fields, is_right = {}, {}, true
for kind, length in pairs(lengths) do
  -- An error if something else is stored under this name.
  local kept = redis.pcall('HGET', numbers, kind) or '0'
  if type(kept) == 'table' then
    kept = '?'
  end
  is_right = is_right and kept == tostring(length)
  found[#found + 1], found[#found + 2], found[#found + 3] = kind, kept, length
  if length > 0 then
    fields[#fields + 1], fields[#fields + 2] = kind, length
  end
end
if mends == '1' and not is_right then
  local views = redis.pcall('HGET', numbers, 'views')
  if type(views) == 'string' then
    fields[#fields + 1], fields[#fields + 2] = 'views', views
  end
  redis.call('DEL', numbers)
  if #fields > 0 then
    redis.call('HSET', numbers, unpack(fields))
  end
end
return found
