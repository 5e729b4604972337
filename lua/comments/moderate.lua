-- Change a comment's status, or pin or unpin a root.
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
--         status       text    approved | waiting | spam; empty: unchanged
--         pin          text    1 | 0; empty: unchanged, and for every reply
--         now          int     ms since the epoch: the new version is at least this
-- RETURNS OK version visible was   done; `was` is the status before
--         MISSING                  no such comment
-- INCLUDE place indexes version
-- COST    O(log n)

local version, bodies, newest, liked, pinned = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local likes, replies, held = KEYS[6], KEYS[7], KEYS[8]
local heldroots, heldreplies, mine = KEYS[9], KEYS[10], KEYS[11]
local id, at, root, owner = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local status, pin, now = ARGV[5], ARGV[6], ARGV[7]

if redis.call('HEXISTS', bodies, id) == 0 then
  return {'MISSING'}
end
local was = redis.call('HGET', held, id) or 'approved'
if status == '' then
  status = was
end
if status == 'approved' then
  redis.call('HDEL', held, id)
else
  redis.call('HSET', held, id, status)
end
local is_pinned = pin == '1' or pin == '' and redis.call('ZSCORE', pinned, id)
index_comment(status, is_pinned, redis.call('HGET', likes, id) or 0)

local visible = redis.call('HLEN', bodies) - redis.call('HLEN', held)
return {'OK', raise_version(version, now), visible, was}
