-- Let an address post now, or say how long it has to wait.
--
-- KEYS    cooldown  string  {i}:cooldown  id of the comment that began it; gone when it is over
-- ARGV    id        text    of the comment that wants through
--         window    int     ms that it lasts
--         exempt    flag    1: has not to wait, and begins it anew
-- RETURNS OK                through
--         TOO_FAST wait     ms until it is over
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
