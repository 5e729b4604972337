-- Begin a session, unless the account has changed since its password was compared.
--
-- KEYS    bodies       hash  {accounts}:bodies         account id -> JSON that readers may see
--         credentials  hash  {accounts}:credentials    account id -> JSON that nobody may see
--         sessions     zset  {accounts}:sessions:<id>  its sessions by when they end, ms
--         link         string  {accounts}:link:<digest>  the id of the account that it is for
-- ARGV    id           text
--         body         json  as it was read
--         old_secret   json  its credentials as they were read
--         secret       json  its new credentials, without a code that was used
--         session      text
--         now          int   ms since the epoch
--         ends         int   ms since the epoch
--         follows      flag  a link asks for this, and is used up by it
--         keep         int   sessions that an account may have; the first to end make room
-- RETURNS OK                 begun
--         EXPIRED            the link was used already, or is too old
--         CHANGED            the account has changed since it was read
-- COST    O(log n + sessions that have ended)

local bodies, credentials, sessions, link = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, body, old_secret, secret = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local session, now, ends, follows, keep = ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9]

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
redis.call('ZREMRANGEBYSCORE', sessions, '-inf', now)
redis.call('ZADD', sessions, ends, session)
redis.call('ZREMRANGEBYRANK', sessions, 0, -keep - 1)
-- The key expires with the session that ends last.
local last = redis.call('ZRANGE', sessions, -1, -1, 'WITHSCORES')[2]
redis.call('PEXPIRE', sessions, string.format('%.0f', last - now))
return {'OK'}
