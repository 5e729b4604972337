-- Start a session, unless the account has changed since its password was checked.
--
-- KEYS    bodies       hash  {accounts}:bodies         account id -> public JSON
--         credentials  hash  {accounts}:credentials    account id -> secret JSON
--         sessions     zset  {accounts}:sessions:<id>  its sessions by end, ms
--         logins       hash  {accounts}:logins:<id>    session -> JSON: start, method, browser, network
--         link         string  {accounts}:link:<digest>  the id of its account
-- ARGV    id           text
--         body         json  as it was read
--         old_secret   json  its credentials as they were read
--         secret       json  its new credentials, without the recovery code used
--         session      text
--         facts        json  start, method, browser, network
--         now          int   ms since the epoch
--         ends         int   ms since the epoch
--         follows      flag  this uses up a link
--         keep         int   sessions per account; the first to end are dropped
-- RETURNS OK                 started
--         EXPIRED            the link was used or has expired
--         CHANGED            the account has changed since it was read
-- COST    O(sessions)

if follows == '1' and redis.call('GET', link) ~= id then
  return {'EXPIRED'}
end
if redis.call('HGET', bodies, id) ~= body
  or (redis.call('HGET', credentials, id) or '') ~= old_secret then
  return {'CHANGED'}
end
if follows == '1' then
  redis.call('DEL', link)
end
redis.call('HSET', credentials, id, secret)
local before = redis.call('ZRANGE', sessions, 0, -1)
redis.call('ZREMRANGEBYSCORE', sessions, '-inf', now)
redis.call('ZADD', sessions, ends, session)
redis.call('HSET', logins, session, facts)
redis.call('ZREMRANGEBYRANK', sessions, 0, -keep - 1)
for _, each in ipairs(before) do
  if not redis.call('ZSCORE', sessions, each) then
    redis.call('HDEL', logins, each)
  end
end
-- The keys expire with the last session.
local last = redis.call('ZRANGE', sessions, -1, -1, 'WITHSCORES')[2]
local lasts = string.format('%.0f', last - now)
redis.call('PEXPIRE', sessions, lasts)
redis.call('PEXPIRE', logins, lasts)
return {'OK'}
