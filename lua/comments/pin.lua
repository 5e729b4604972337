-- Put a root on top of every order, or back in its place.
--
-- KEYS    version    string  {p}:version
--         bodies     hash    {p}:bodies
--         newest     zset    {p}:newest
--         liked      zset    {p}:liked
--         pinned     zset    {p}:pinned      pinned roots of any status by time; in no other index
--         likes      hash    {p}:likes
--         held       hash    {p}:held
--         heldroots  zset    {p}:heldroots
-- ARGV    id         text    a root's
--         at         int     insertion time, ms since the epoch
--         pin        flag    1 pins, 0 unpins
--         now        int     ms since the epoch: the least that the version becomes
-- RETURNS OK                 done
--         MISSING            no such comment
-- COST    O(log n)

local version, bodies, newest, liked, pinned = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local likes, held, heldroots = KEYS[6], KEYS[7], KEYS[8]
local id, at, pin, now = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if redis.call('HEXISTS', bodies, id) == 0 then
  return {'MISSING'}
end
if pin == '1' then
  redis.call('ZREM', newest, id)
  redis.call('ZREM', liked, id)
  redis.call('ZREM', heldroots, id)
  redis.call('ZADD', pinned, at, id)
elseif redis.call('ZREM', pinned, id) == 1 then
  if redis.call('HEXISTS', held, id) == 1 then
    redis.call('ZADD', heldroots, at, id)
  else
    redis.call('ZADD', newest, at, id)
    redis.call('ZADD', liked, redis.call('HGET', likes, id) or 0, id)
  end
end
local raised = math.max(tonumber(redis.call('GET', version) or 0) + 1, tonumber(now))
redis.call('SET', version, string.format('%.0f', raised))
return {'OK'}
