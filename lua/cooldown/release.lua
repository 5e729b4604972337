-- Open a gate again for an address whose comment was not stored after all.
--
-- KEYS    gate  string  {i}:gate
-- ARGV    id    text    of the comment that closed it; another one's gate stays closed
-- RETURNS OK    done
-- FLAGS   no-promise
-- COST    O(1)

local gate = KEYS[1]
local id = ARGV[1]

if redis.call('GET', gate) == id then
  redis.call('DEL', gate)
end
return {'OK'}
