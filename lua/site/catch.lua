-- Count what bans have caught; those that were lifted meanwhile count nothing any more.
--
-- KEYS    bans       hash  {site}:bans    what is banned -> JSON
--         caught     hash  {site}:caught  how often each ban has caught somebody, and when last
-- ARGV    now        int   ms since the epoch
--         numbers... text  what is banned, and how often it has caught somebody since, in turn
-- RETURNS OK               done
-- COST    O(n)             of so many bans

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
