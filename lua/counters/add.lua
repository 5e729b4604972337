-- Change many counters in one step, none of them below zero.
--
-- KEYS    counts...[2]   hash  of each change in turn: {c}:counts or {c}:long, "<counter> <path>" -> count;
--                              and {c}:numbers, kind of such a hash -> number of its counters
-- ARGV    changes...[2]  text  of each change in turn: field, delta
-- RETURNS counts            the new values, in the order of the changes
-- INCLUDE kind_of change
-- COST    O(changes)

local counts, changes = KEYS, ARGV

local answers = {}

for i = 1, #changes, 2 do
  answers[#answers + 1] = change(counts[i], counts[i + 1], changes[i], changes[i + 1])
end
return answers
