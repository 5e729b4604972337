-- Rename pages in the referrals of a day, or forget from where they were visited.
--
-- KEYS    referrals   hash  {c}:referrals:<day> or {site}:referrals:<day>, as in lua/counters/count.lua
-- ARGV    adds        int   1 to add their numbers under the new names, or to the others together; 0 to remove them
--         names...[2] text  a path, and its new one, "" to forget it, in turn
-- RETURNS changed           number of fields
-- FLAGS   no-promise
-- COST    O(fields)

-- Of a share or of a sum, with how many more views each may have.
local MOST_FIELDS = 1000
-- Bytes of a source and a page together.
local MOST_REFERRAL = 300

local targets = {}
for i = ARGV_BEFORE + 1, #names, ARGV_EACH do
  targets[names[i]] = names[i + 1]
end

local function rename(field, number)
  -- How many more a source may have starts with a space.
  local source, path = string.match(field, '^( ?%S+) (.*)$')
  local target = path and targets[path]
  if not target then
    return 0
  end
  local renamed = source .. ' ' .. target
  redis.call('HDEL', referrals, field)
  if adds == '0' then
    return 1
  elseif target ~= '' and #renamed <= MOST_REFERRAL then
    redis.pcall('HINCRBY', referrals, renamed, number)
  elseif string.sub(field, 1, 1) ~= ' ' then
    -- The others together still have its views.
    redis.pcall('HINCRBY', referrals, '', number)
  end
  return 1
end

local changed, at = 0, '0'
repeat
  local step = redis.call('HSCAN', referrals, at, 'COUNT', MOST_FIELDS)
  at = step[1]
  for i = 1, #step[2], 2 do
    changed = changed + rename(step[2][i], tonumber(step[2][i + 1]) or 0)
  end
until at == '0'
return changed
