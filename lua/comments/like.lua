-- Change a comment's likes by one, never below zero, and its place in the order by likes.
--
-- KEYS    version    string  {p}:version
--         path       string  {p}:path
--         bodies     hash    {p}:bodies
--         likes      hash    {p}:likes    comment id -> likes, of roots and replies
--         liked      zset    {p}:liked    index of approved roots by like count
--         heldliked  zset    {p}:heldliked  index of held roots by like count
--         held       hash    {p}:held     comment id -> status and mark, unless approved
--         pinned     zset    {p}:pinned
--         mine       zset    {p}:mine     held comments of accounts, <account>:<id>
-- ARGV    id         text
--         delta      number  1 or -1
--         sees       text    public | own | all: which held comments the caller may see
--         account    text    the caller's, or empty
--         room       number  the largest body to return, in bytes
--         now        int     ms since the epoch: the new version is at least this
-- RETURNS OK likes body status pinned path   pinned is 1 or 0; a larger body is empty
--         MISSING                            no such comment, or hidden from the caller
-- INCLUDE status_of version
-- COST    O(log n)

-- Checked before the body is read: the time must not reveal that an unpublished comment exists.
local status = status_of(id)
local is_theirs = sees == 'own' and redis.call('ZSCORE', mine, account .. ':' .. id)
if status == 'deleted' or (status ~= 'approved' and sees ~= 'all' and not is_theirs) then
  return {'MISSING'}
end
local body = redis.call('HGET', bodies, id)
if not body then
  return {'MISSING'}
end
local before = tonumber(redis.call('HGET', likes, id) or 0)
local after = math.max(before + delta, 0)
if after ~= before then
  redis.call('HSET', likes, id, after)
  local index = status == 'approved' and liked or heldliked
  redis.call('ZADD', index, 'XX', after, id)
  raise_version(version, now)
end
local is_pinned = redis.call('ZSCORE', pinned, id) and 1 or 0
if #body > room then
  body = ''
end
return {'OK', after, body, status, is_pinned, redis.call('GET', path)}
