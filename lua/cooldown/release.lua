-- End an address's cooldown, because its comment or edit was not stored.
--
-- KEYS    cooldown  string  {i}:cooldown
-- ARGV    id        text    of the comment or edit that started it; another's cooldown stays
-- RETURNS OK        done
-- FLAGS   no-promise
-- COST    O(1)

local cooldown = KEYS[1]
local id = ARGV[1]

if redis.call('GET', cooldown) == id then
  redis.call('DEL', cooldown)
end
return {'OK'}
