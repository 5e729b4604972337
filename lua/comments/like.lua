-- Move a comment's likes by one, never below zero, and its place in the order with them.
--
-- KEYS    version  string  {p}:version
--         path     string  {p}:path
--         bodies   hash    {p}:bodies
--         likes    hash    {p}:likes    comment id -> likes: the truth, for roots and replies alike
--         liked    zset    {p}:liked    approved roots by like count: its index
--         held     hash    {p}:held
--         pinned   zset    {p}:pinned
--         mine     zset    {p}:mine:<account>
-- ARGV    id       text
--         delta    int     1 or -1
--         sees     text    public | own | all: which held comments the caller may see
--         room     int     bytes of a body that is wanted
--         now      int     ms since the epoch: the least that the version becomes
-- RETURNS OK likes body status pinned path   pinned is 1 or 0; a longer body is left empty
--         MISSING                            no such comment, or none that the caller may see
-- INCLUDE version
-- COST    O(log n)

local version, path, bodies, likes = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local liked, held, pinned, mine = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local id, delta, sees = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local room, now = tonumber(ARGV[4]), ARGV[5]

-- Before the body is read: a held comment must not take longer to deny than one that is not there.
local status = redis.call('HGET', held, id) or 'approved'
if status ~= 'approved' and sees ~= 'all' then
  if sees ~= 'own' or not redis.call('ZSCORE', mine, id) then
    return {'MISSING'}
  end
end
local body = redis.call('HGET', bodies, id)
if not body then
  return {'MISSING'}
end
local before = tonumber(redis.call('HGET', likes, id) or 0)
local after = math.max(before + delta, 0)
if after ~= before then
  redis.call('HSET', likes, id, after)
  redis.call('ZADD', liked, 'XX', after, id)
  raise_version(version, now)
end
local is_pinned = redis.call('ZSCORE', pinned, id) and 1 or 0
if #body > room then
  body = ''
end
return {'OK', after, body, status, is_pinned, redis.call('GET', path)}
