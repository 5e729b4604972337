-- Add past views to the site's sums, each step of a day once.
--
-- KEYS    files       hash  {site}:files:<month>  step -> 1 if it was added to the site
--         sums...     hash  of each change in turn: {site}:views:<month>, {site}:sources:<day> or
--                           {site}:referrals:<day>
-- ARGV    step        text  the digest of the day's views, and the step's number
--         kept_ms     int   ms to remember that
--         changes...[4] text of each change in turn: how to combine it with an existing number (add, most, or add and,
--                           beyond so many fields as MOST says, to the rest: source, referral), field, number, for how many ms the
--                           hash is kept
-- RETURNS OK                added
--         DONE              added before
-- COST    O(changes)

-- Keys and arguments before the first change; arguments per change.
-- Names per day, as in statistics/source_views.py; the name "" counts the rest.
local MOST = {source = 1000, referral = 300}

if redis.call('HSETNX', files, step, 1) == 0 then
  return {'DONE'}
end
redis.call('PEXPIRE', files, kept_ms)

-- pcall, because a damaged hash must not stop the others.
local function is_full(index, field, most)
  local has = redis.pcall('HEXISTS', index, field)
  local size = redis.pcall('HLEN', index)
  return has == 0 and type(size) == 'number' and size >= most
end

local function set_most(index, field, number)
  local there = redis.pcall('HGET', index, field)
  if type(there) ~= 'table' and (tonumber(there or 0) or 0) < tonumber(number) then
    redis.pcall('HSET', index, field, number)
  end
end

for i = 1, #sums - KEYS_BEFORE do
  local sum, at = sums[KEYS_BEFORE + i], ARGV_BEFORE + ARGV_EACH * (i - 1)
  local how, field, number, sum_ms = changes[at + 1], changes[at + 2], changes[at + 3], changes[at + 4]
  if how == 'most' then
    set_most(sum, field, number)
  else
    if MOST[how] and is_full(sum, field, MOST[how]) then
      field = ''
    end
    redis.pcall('HINCRBY', sum, field, number)
  end
  redis.pcall('PEXPIRE', sum, sum_ms)
end
return {'OK'}
