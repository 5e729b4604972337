-- Count what bans have caught, except bans that were lifted meanwhile.
--
-- KEYS    bans       hash  {site}:bans    ban -> JSON
--         caught     hash  {site}:caught  per ban: number of catches, and the last
-- ARGV    now        int   ms since the epoch
--         numbers...[2] text  ban and number of new catches, in turn
-- RETURNS OK               done
-- COST    O(n)             of the bans

for at = ARGV_BEFORE + 1, #numbers, ARGV_EACH do
  local value, number = numbers[at], numbers[at + 1]
  if redis.call('HEXISTS', bans, value) == 1 then
    redis.call('HINCRBY', caught, 'n ' .. value, number)
    redis.call('HSET', caught, 'at ' .. value, now)
  end
end
return {'OK'}
