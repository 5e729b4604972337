-- Note the site's visitors of a day.
--
-- KEYS    shares...[2]  hash  in turn {c}:site, v<day> -> visitors; and {c}:visitors:<day>, a set of their numbers,
--                             or a sketch of them
-- ARGV    field         text  such as v20261123
--         day_ms        int   ms to keep visitors' numbers
--         visitors...   int   of each share in turn how many there are, and their numbers of the day
-- RETURNS done                0
-- INCLUDE sketch note_visitors
-- FLAGS   no-promise
-- COST    O(visitors), and once of a share that becomes a sketch

-- Visitors of a share counted exactly: some 128,000 of the site (statistics/visits.py).
local MOST_VISITORS = 8000

-- The last argument that was read.
local last
last = ARGV_BEFORE

for i = 1, #shares, KEYS_EACH do
  local number = tonumber(visitors[last + 1])
  local numbers = {unpack(visitors, last + 2, last + 1 + number)}
  note_visitors(shares[i + 1], shares[i], field, MOST_VISITORS, numbers)
  last = last + 1 + number
end
return 0
