-- Count what bans have caught, except bans that were lifted meanwhile.
--
-- KEYS    bans       hash  {site}:bans    ban -> JSON
--         caught     hash  {site}:caught  per ban: number of catches, and the last
-- ARGV    now        int   ms since the epoch
--         numbers... text  ban and number of new catches, in turn
-- RETURNS OK               done
-- COST    O(n)             of the bans

local bans, caught = KEYS[1], KEYS[2]
local now, numbers = ARGV[1], ARGV

-- The index of the first pair.
local FIRST = 2

for at = FIRST, #numbers, 2 do
  local value, number = numbers[at], numbers[at + 1]
  if redis.call('HEXISTS', bans, value) == 1 then
    redis.call('HINCRBY', caught, 'n ' .. value, number)
    redis.call('HSET', caught, 'at ' .. value, now)
  end
end
return {'OK'}
