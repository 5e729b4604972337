-- Note the site's visitors of a day, and what they are.
--
-- KEYS    shares...[3]  hash  in turn {c}:site, v<day> -> visitors; {c}:visitors:<day>, a set of their numbers, or a
--                             sketch of them; and {c}:audience:<day>, "<kind> <name>" -> visitors
-- ARGV    field         text  such as v20261123
--         day_ms        int   ms to keep visitors' numbers
--         kinds         text  of classes, between spaces; "" if visitors are not classed
--         visitors...   text  of each share in turn how many there are, their numbers of the day, and of each visitor in
--                             turn a name of each kind, on lines
-- RETURNS done                0
-- INCLUDE sketch note_visitors
-- FLAGS   no-promise
-- COST    O(visitors), and once of a share that becomes a sketch

-- Visitors of a share counted exactly: some 128,000 of the site (statistics/visits.py).
local MOST_VISITORS = 8000
-- As other lists of a day (lua/counters/count.lua).
local LISTS_MS = 9 * 86400000

-- The last argument that was read.
local last
last = ARGV_BEFORE

local each_kind = {}
for kind in string.gmatch(kinds, '%S+') do
  each_kind[#each_kind + 1] = kind
end

-- The classes of those that are not in the set. In a sketch nobody is known, so there later visitors have no class.
local function classes_of(index, numbers, first)
  local known, seen, alike, classes = redis.pcall('SMISMEMBER', index, unpack(numbers)), {}, {}, {}
  if known.err then
    return classes
  end
  for i = 1, #numbers do
    if known[i] == 0 and not seen[numbers[i]] then
      seen[numbers[i]] = true
      local names = visitors[first + i]
      alike[names] = (alike[names] or 0) + 1
    end
  end
  -- Many have the same names.
  for names, number in pairs(alike) do
    local k = 0
    for name in string.gmatch(names, '(.-)\n') do
      k = k + 1
      local class = (each_kind[k] or '') .. ' ' .. name
      classes[class] = (classes[class] or 0) + number
    end
  end
  return classes
end

for i = 1, #shares, KEYS_EACH do
  local number = tonumber(visitors[last + 1])
  local numbers = {unpack(visitors, last + 2, last + 1 + number)}
  last = last + 1 + number
  local classes = #each_kind > 0 and classes_of(shares[i + 1], numbers, last) or {}
  last = last + (#each_kind > 0 and number or 0)
  note_visitors(shares[i + 1], shares[i], field, MOST_VISITORS, numbers)
  for class, more in pairs(classes) do
    if redis.pcall('HINCRBY', shares[i + 2], class, more) == more then
      redis.call('PEXPIRE', shares[i + 2], LISTS_MS)
    end
  end
end
return 0
