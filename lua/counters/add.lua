-- Change many counters in one step, none of them below zero.
--
-- KEYS    counts...[2]   hash  of each change in turn: {c}:counts or {c}:long, "<counter> <path>" -> count;
--                              and {c}:numbers, kind of such a hash -> number of its counters,
--                              and views -> a share of the sum of all view counters
-- ARGV    changes...[2]  text  of each change in turn: field, delta
-- RETURNS counts            the new values, in the order of the changes
-- INCLUDE kind_of change
-- COST    O(changes)

local answers, ever = {}, 0

for i = 1, #changes, ARGV_EACH do
  local count, added = change(counts[i], counts[i + 1], changes[i], changes[i + 1])
  answers[#answers + 1] = count
  if string.sub(changes[i], 1, 5) == 'time ' then
    ever = ever + added
  end
end
if ever ~= 0 then
  redis.pcall('HINCRBY', counts[2], 'views', ever)
end
return answers
