-- Remove the data of deleted comments for good.
--
-- KEYS    bodies       hash    {p}:bodies
--         private      hash    {p}:private
--         likes        hash    {p}:likes
--         held         hash    {p}:held
--         nested       zset    {p}:nested
--         fingerprints hash    {p}:fingerprints
--         deleted      zset    {p}:deleted
--         gone         zset    {p}:gone
--         decided      hash    {p}:decided
-- ARGV    head         text    id of the comment that was deleted
--         before       number  ms since the epoch: it was deleted before that
--         comments...[3] text    of each in turn: its id; its parent's id,
--                              or empty; the fingerprint of its text, or empty. The head itself goes
--                              last, after the replies deleted with it
-- RETURNS OK removed           number of removed comments: 0 if it was restored meanwhile
-- COST    O(comments * log n)

local removed = 0

-- Replies that were to be restored with a removed comment are removed, too.
local at = tonumber(redis.call('ZSCORE', deleted, head) or math.huge)
if at > before and (at < math.huge or redis.call('HEXISTS', bodies, head) == 1) then
  return {'OK', 0}
end
for i = ARGV_BEFORE + 1, #comments, ARGV_EACH do
  local id, parent, fingerprint = comments[i], comments[i + 1], comments[i + 2]
  local goes = redis.call('ZREM', gone, head .. ':' .. id) == 1
  if id == head then
    goes = redis.call('ZLEXCOUNT', gone, '[' .. head .. ':', '(' .. head .. ';') == 0
  end
  if goes then
    redis.call('HDEL', bodies, id)
    redis.call('HDEL', private, id)
    redis.call('HDEL', likes, id)
    redis.call('HDEL', held, id)
    redis.call('HDEL', decided, id)
    redis.call('ZREM', nested, parent .. ':' .. id)
    if fingerprint ~= '' and redis.call('HGET', fingerprints, fingerprint) == id then
      redis.call('HDEL', fingerprints, fingerprint)
    end
    if id == head then
      redis.call('ZREM', deleted, head)
    end
    removed = removed + 1
  end
end
return {'OK', removed}
