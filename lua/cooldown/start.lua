-- Start an address's cooldown, unless it has one.
--
-- KEYS    cooldown  string  {i}:cooldown  id of the comment or edit that started it; expires at its end
-- ARGV    id        text    of the comment or edit
--         window    int     its length in ms
--         exempt    flag    1: start it even if there is one
-- RETURNS OK                started: the comment or edit may be stored
--         TOO_FAST wait     there is one: ms until its end
-- FLAGS   no-promise
-- COST    O(1)

local cooldown = KEYS[1]
local id, window, exempt = ARGV[1], ARGV[2], ARGV[3]

if exempt == '1' then
  redis.call('SET', cooldown, id, 'PX', window)
  return {'OK'}
end
if redis.call('SET', cooldown, id, 'PX', window, 'NX') then
  return {'OK'}
end
return {'TOO_FAST', redis.call('PTTL', cooldown)}
