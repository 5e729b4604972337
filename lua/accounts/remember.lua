-- Note that an account has logged in from somewhere, if there is such an account.
--
-- KEYS    bodies   hash  {accounts}:bodies       account id -> JSON that readers may see
--         places   zset  {accounts}:places:<id>  digests of addresses from which it logged in lately,
--                                                by when it last did, ms; expires
-- ARGV    id       text
--         place    text  a digest
--         now      int   ms since the epoch
--         lasts    int   ms for which it is remembered
--         keep     int   so many are; the one that was used longest ago makes room
-- RETURNS OK             noted
--         GONE           there is no such account
-- FLAGS   no-promise
-- COST    O(log n + places that are forgotten)

local bodies, places = KEYS[1], KEYS[2]
local id, place, now, lasts, keep = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

if redis.call('HEXISTS', bodies, id) == 0 then
  return {'GONE'}
end
redis.call('ZREMRANGEBYSCORE', places, '-inf', string.format('%.0f', now - lasts))
redis.call('ZADD', places, now, place)
redis.call('ZREMRANGEBYRANK', places, 0, -keep - 1)
redis.call('PEXPIRE', places, lasts)
return {'OK'}
