-- Read the count of a page and its views, as they are at one moment.
--
-- KEYS    counter     hash  {c}:counts or {c}:long, which has the page's counter of views
--         views...    hash  the page's {c}:days, {c}:bots and {c}:hours
-- ARGV    name        text  of the counter
-- RETURNS count             or nil; then of each hash its fields and values in turn, or the error that it is damaged
-- FLAGS   no-writes
-- COST    O(fields)

-- HSCAN reads a hash with fewer fields in one step, as each of these is; a damaged one may have more.
local MOST_FIELDS = 2000

-- pcall, because a damaged key must not hide the others.
local read = {redis.pcall('HGET', counter, name)}
for i = KEYS_BEFORE + 1, #views do
  local scanned = redis.pcall('HSCAN', views[i], 0, 'COUNT', MOST_FIELDS)
  read[i] = scanned.err and scanned or scanned[2]
end
return read
