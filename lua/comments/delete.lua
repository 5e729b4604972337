-- Delete comments of a page, with everything that is stored of them: all of these, or none.
--
-- KEYS    version      string  {p}:version
--         bodies       hash    {p}:bodies
--         private      hash    {p}:private
--         newest       zset    {p}:newest
--         liked        zset    {p}:liked
--         pinned       zset    {p}:pinned
--         likes        hash    {p}:likes
--         replies      zset    {p}:replies
--         held         hash    {p}:held
--         heldroots    zset    {p}:heldroots
--         heldliked    zset    {p}:heldliked
--         heldreplies  zset    {p}:heldreplies
--         fingerprints hash    {p}:fingerprints
--         withdrawn    zset    {p}:withdrawn
--         mine...      zset    {p}:mine:<account>  of their authors
-- ARGV    now          int     ms since the epoch: the new version is at least this
--         thread       text    id of a root that may have no other replies than these; empty: none
--         comments...  text    of each in turn: its id; its root's, empty for a root; both halves as
--                              they were read, joined; the fingerprint of its text, or empty;
--                              which of `mine` is its author's, 0 for none
-- RETURNS OK version visible gone  done; of each in turn its status, empty if it was gone already, its
--                                  likes, whether it was pinned, whether its text was compared
--                                  with those of others (1 or 0), and its score in `withdrawn`
--         OVERTAKEN                one has another text than was read, or the thread other replies
-- INCLUDE version
-- COST    O(comments * log n), and the bytes of their bodies

local version, bodies, private, newest, liked = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local pinned, likes, replies, held = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local heldroots, heldliked, heldreplies = KEYS[10], KEYS[11], KEYS[12]
local fingerprints, withdrawn = KEYS[13], KEYS[14]
local mine = KEYS
local now, thread, comments = ARGV[1], ARGV[2], ARGV

local MINE_BEFORE, FIRST, WIDTH = 14, 3, 5

local found, under = {}, 0
for i = FIRST, #comments, WIDTH do
  local body = redis.call('HGET', bodies, comments[i])
  if body then
    local halves = body .. (redis.call('HGET', private, comments[i]) or '')
    if halves ~= comments[i + 2] then
      return {'OVERTAKEN'}
    end
    if thread ~= '' and comments[i + 1] == thread then
      under = under + 1
    end
    found[i] = true
  end
end
if thread ~= '' then
  local first, last = '[' .. thread .. ':', '(' .. thread .. ';'
  local approved = redis.call('ZLEXCOUNT', replies, first, last)
  if approved + redis.call('ZLEXCOUNT', heldreplies, first, last) ~= under then
    return {'OVERTAKEN'}
  end
end

local gone = {}
for i = FIRST, #comments, WIDTH do
  local id, root, fingerprint = comments[i], comments[i + 1], comments[i + 3]
  local status, likes_before, was_pinned, was_compared, seen = '', 0, 0, 0, ''
  if found[i] then
    status = redis.call('HGET', held, id) or 'approved'
    likes_before = tonumber(redis.call('HGET', likes, id) or 0)
    redis.call('HDEL', bodies, id)
    redis.call('HDEL', private, id)
    redis.call('HDEL', held, id)
    redis.call('HDEL', likes, id)
    seen = redis.call('ZSCORE', withdrawn, id) or ''
    redis.call('ZREM', withdrawn, id)
    if fingerprint ~= '' and redis.call('HGET', fingerprints, fingerprint) == id then
      was_compared = redis.call('HDEL', fingerprints, fingerprint)
    end
    if root == '' then
      was_pinned = redis.call('ZREM', pinned, id)
      redis.call('ZREM', newest, id)
      redis.call('ZREM', liked, id)
      redis.call('ZREM', heldroots, id)
      redis.call('ZREM', heldliked, id)
    else
      redis.call('ZREM', replies, root .. ':' .. id)
      redis.call('ZREM', heldreplies, root .. ':' .. id)
    end
    local owner = tonumber(comments[i + 4])
    if owner > 0 then
      redis.call('ZREM', mine[MINE_BEFORE + owner], id)
    end
  end
  gone[#gone + 1] = status
  gone[#gone + 1] = likes_before
  gone[#gone + 1] = was_pinned
  gone[#gone + 1] = was_compared
  gone[#gone + 1] = seen
end

local visible = redis.call('HLEN', bodies) - redis.call('HLEN', held)
return {'OK', raise_version(version, now), visible, gone}
