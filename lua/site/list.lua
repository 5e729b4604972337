-- List comments of some of the site's indexes, newest first: one page, or those after one comment.
--
-- KEYS    indexes...  zset    {site}:recent, {site}:waiting, {site}:spam: the requested ones
-- ARGV    first       number  comments to skip; unused with `behind`
--         size        number  comments wanted, at most 100
--         behind      text    id of the comment before these; empty: a page
--         at          number  its insertion time, ms since the epoch
-- RETURNS total ids...   their total, and the ids
-- FLAGS   no-writes
-- COST    O(indexes * log n * log of a time in ms), and those in the same ms as the first one

-- No comment's time in ms is above this one.
local LATEST = 2 ^ 48

local function count(low)
  local sum = 0
  for _, index in ipairs(indexes) do
    sum = sum + redis.call('ZCOUNT', index, string.format('%.0f', low), '+inf')
  end
  return sum
end

local total = count(0)
if behind == '' then
  -- The time of the first comment: the latest time with more than `first` comments at or after it.
  local low, high = 0, LATEST
  while high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if count(middle) > first then
      low = middle
    else
      high = middle
    end
  end
  at, first = low, first - count(low + 1)
else
  first = 0
end

local same = count(at) - count(at + 1)
local ids = {}
for _, index in ipairs(indexes) do
  local found = redis.call(
    'ZRANGE', index, string.format('%.0f', at), '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, size + same
  )
  for _, id in ipairs(found) do
    if behind == '' or id < behind then
      ids[#ids + 1] = id
    end
  end
end
-- Ids sort by time.
table.sort(ids, function(a, b) return a > b end)

local reply = {total}
for i = first + 1, math.min(first + size, #ids) do
  reply[#reply + 1] = ids[i]
end
return reply
