-- Approve a comment or hold it back, and move it between the indexes.
--
-- KEYS    version      string  {p}:version
--         bodies       hash    {p}:bodies
--         newest       zset    {p}:newest
--         liked        zset    {p}:liked
--         pinned       zset    {p}:pinned
--         likes        hash    {p}:likes
--         replies      zset    {p}:replies
--         held         hash    {p}:held
--         heldroots    zset    {p}:heldroots
--         heldreplies  zset    {p}:heldreplies
--         mine         zset    {p}:mine:<account>
-- ARGV    id           text
--         at           int     insertion time, ms since the epoch
--         root         text    id of the root replied under, empty for a root
--         owner        flag    the author has an account
--         status       text    approved | waiting | spam
--         now          int     ms since the epoch: the least that the version becomes
-- RETURNS OK version visible was   done; `was` is the status before
--         MISSING                  no such comment
-- COST    O(log n)

local version, bodies, newest, liked, pinned = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local likes, replies, held = KEYS[6], KEYS[7], KEYS[8]
local heldroots, heldreplies, mine = KEYS[9], KEYS[10], KEYS[11]
local id, at, root = ARGV[1], ARGV[2], ARGV[3]
local owner, status, now = ARGV[4], ARGV[5], ARGV[6]

if redis.call('HEXISTS', bodies, id) == 0 then
  return {'MISSING'}
end
local was = redis.call('HGET', held, id) or 'approved'
local member = root .. ':' .. id
-- A pinned root is in no other index, whatever its status.
local is_loose = root == '' and not redis.call('ZSCORE', pinned, id)

if status == 'approved' then
  redis.call('HDEL', held, id)
  redis.call('ZREM', mine, id)
  if root ~= '' then
    redis.call('ZREM', heldreplies, member)
    redis.call('ZADD', replies, 0, member)
  elseif is_loose then
    redis.call('ZREM', heldroots, id)
    redis.call('ZADD', newest, at, id)
    redis.call('ZADD', liked, redis.call('HGET', likes, id) or 0, id)
  end
else
  redis.call('HSET', held, id, status)
  if owner == '1' then
    redis.call('ZADD', mine, at, id)
  end
  if root ~= '' then
    redis.call('ZREM', replies, member)
    redis.call('ZADD', heldreplies, 0, member)
  elseif is_loose then
    redis.call('ZREM', newest, id)
    redis.call('ZREM', liked, id)
    redis.call('ZADD', heldroots, at, id)
  end
end

local visible = redis.call('HLEN', bodies) - redis.call('HLEN', held)
local raised = math.max(tonumber(redis.call('GET', version) or 0) + 1, tonumber(now))
redis.call('SET', version, string.format('%.0f', raised))
return {'OK', raised, visible, was}
