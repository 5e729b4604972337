-- Note the site's visitors of a day.
--
-- KEYS    shares...[2]  hash  of each visitor in turn: {c}:site, v<day> -> visitors; and {c}:visitors:<day>, a set of
--                           their numbers, or a sketch of them
-- ARGV    field       text  such as v20261123
--         day_ms      int   ms to keep visitors' numbers
--         visitors... int   their numbers of the day
-- RETURNS done              0
-- INCLUDE sketch note_visitors
-- FLAGS   no-promise
-- COST    O(visitors), and once of a share that becomes a sketch

local shares = KEYS
local field, day_ms, visitors = ARGV[1], ARGV[2], ARGV

local ARGV_BEFORE, KEYS_EACH = 2, 2
-- Visitors of a share counted exactly: half a million of the site.
local MOST_VISITORS = 2000

for i = 1, #visitors - ARGV_BEFORE do
  local at = KEYS_EACH * (i - 1)
  note_visitors(shares[at + 2], shares[at + 1], field, MOST_VISITORS, {visitors[ARGV_BEFORE + i]})
end
return 0
