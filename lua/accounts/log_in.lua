-- Begin a session, unless the account has changed since its password was compared.
--
-- KEYS    bodies       hash  {accounts}:bodies         account id -> JSON that readers may see
--         credentials  hash  {accounts}:credentials    account id -> JSON that nobody may see
--         sessions     zset  {accounts}:sessions:<id>  its sessions by when they end, ms
--         logins       hash  {accounts}:logins:<id>    session -> JSON: how and where it began
--         link         string  {accounts}:link:<digest>  the id of the account that it is for
-- ARGV    id           text
--         body         json  as it was read
--         old_secret   json  its credentials as they were read
--         secret       json  its new credentials, without a code that was used
--         session      text
--         facts        json  how and where it begins
--         now          int   ms since the epoch
--         ends         int   ms since the epoch
--         follows      flag  a link asks for this, and is used up by it
--         keep         int   sessions that an account may have; the first to end make room
-- RETURNS OK                 begun
--         EXPIRED            the link was used already, or is too old
--         CHANGED            the account has changed since it was read
-- COST    O(sessions)

local bodies, credentials, sessions, logins, link = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id, body, old_secret, secret, session = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local facts, now, ends, follows, keep = ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10]

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
-- The keys expire with the session that ends last.
local last = redis.call('ZRANGE', sessions, -1, -1, 'WITHSCORES')[2]
local lasts = string.format('%.0f', last - now)
redis.call('PEXPIRE', sessions, lasts)
redis.call('PEXPIRE', logins, lasts)
return {'OK'}
