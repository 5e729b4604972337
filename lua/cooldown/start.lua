-- Let an address post now, or say how long it has to wait.
--
-- KEYS    gate    string  {i}:gate  id of the comment that closed it; gone when the window is over
-- ARGV    id      text    of the comment that wants through
--         window  int     ms that the gate stays closed behind it
--         exempt  flag    1: passes a closed gate, and closes it anew
-- RETURNS OK              through
--         TOO_FAST wait   ms until the gate opens
-- FLAGS   no-promise
-- COST    O(1)

local gate = KEYS[1]
local id, window, exempt = ARGV[1], ARGV[2], ARGV[3]

if exempt == '1' then
  redis.call('SET', gate, id, 'PX', window)
  return {'OK'}
end
if redis.call('SET', gate, id, 'PX', window, 'NX') then
  return {'OK'}
end
return {'TOO_FAST', redis.call('PTTL', gate)}
