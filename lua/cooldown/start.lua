-- Begin an address's cooldown, unless one goes on.
--
-- KEYS    cooldown  string  {i}:cooldown  id of the comment or edit that began it; expires with it
-- ARGV    id        text    of the comment or edit that begins it
--         window    int     ms that it lasts
--         exempt    flag    1: begin it anew even if one goes on
-- RETURNS OK                it has begun: the comment or edit may be stored
--         TOO_FAST wait     another one goes on: ms until its end
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
