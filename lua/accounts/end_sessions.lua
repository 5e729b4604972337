-- End one session of an account, or all but one.
--
-- KEYS    sessions  zset  {accounts}:sessions:<id>  its sessions by end, ms
--         logins    hash  {accounts}:logins:<id>    session -> JSON: start, method, browser, network
-- ARGV    session   text
--         others    flag  end all others, if this one is valid
-- RETURNS OK              done, or done before
--         ENDED           this session has ended, and no other was ended
-- INCLUDE end_sessions
-- COST    O(sessions)

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
