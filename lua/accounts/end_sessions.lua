-- End one session of an account, or all but one.
--
-- KEYS    sessions  zset  {accounts}:sessions:<id>  its sessions by when they end, ms
--         logins    hash  {accounts}:logins:<id>    session -> JSON: how and where it began
-- ARGV    session   text
--         others    flag  all but this one end, if it goes on itself
-- RETURNS OK              done, or done before
--         ENDED           the session that asks is over, and no other one has ended
-- INCLUDE end_sessions
-- COST    O(sessions)

local sessions, logins = KEYS[1], KEYS[2]
local session, others = ARGV[1], ARGV[2]

if others == '0' then
  redis.call('ZREM', sessions, session)
  redis.call('HDEL', logins, session)
  return {'OK'}
end
if not redis.call('ZSCORE', sessions, session) then
  return {'ENDED'}
end
end_sessions(session)
return {'OK'}
