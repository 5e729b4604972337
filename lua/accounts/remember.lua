-- Note where an account has logged in, if it exists.
--
-- KEYS    bodies   hash  {accounts}:bodies       account id -> public JSON
--         places   zset  {accounts}:places:<id>  digests of addresses of recent logins,
--                                                by last login, ms; expires
-- ARGV    id       text
--         place    text  a digest
--         now      int   ms since the epoch
--         lasts    int   ms to remember it
--         keep     int   number of places; the oldest is dropped
-- RETURNS OK             noted
--         GONE           there is no such account
-- FLAGS   no-promise
-- COST    O(log n + dropped places)

if redis.call('HEXISTS', bodies, id) == 0 then
  return {'GONE'}
end
redis.call('ZREMRANGEBYSCORE', places, '-inf', string.format('%.0f', now - lasts))
redis.call('ZADD', places, now, place)
redis.call('ZREMRANGEBYRANK', places, 0, -keep - 1)
redis.call('PEXPIRE', places, lasts)
return {'OK'}
