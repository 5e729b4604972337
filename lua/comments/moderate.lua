-- Change a comment's text or status, pin or unpin a root, or make it a reply.
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
--         mine         zset    {p}:mine:<account>
--         fingerprints hash    {p}:fingerprints
--         longest      string  {p}:longest
--         outbox       stream  {p}:outbox
--         withdrawn    zset    {p}:withdrawn   held comments that were approved before; score 1 if
--                                              people know of it, 0 if nobody was told
-- ARGV    id           text
--         at           int     insertion time, ms since the epoch
--         root         text    id of the root replied under, empty for a root
--         owner        flag    the author has an account
--         status       text    approved | waiting | spam; empty: unchanged
--         pin          text    1 | 0; empty: unchanged, and for every reply
--         now          int     ms since the epoch: the new version is at least this
--         before       text    both halves as they were read, joined; empty: the text stays
--         body         json    opaque here, as are the secrets
--         secrets      json    body, secrets and fingerprints only come with a new text
--         outdated     text    fingerprint of the author's old text; empty: none, or it stays
--         fingerprint  text    fingerprint of the new text; empty: it is not compared
--         only         text    the status that it must still have; empty: any
--         by           text    author | moderator | judge; empty: nobody is told of it
--         adopted      flag    it was a root, and becomes a reply under `root`
-- RETURNS OK version visible was   done; `was` is the status before
--         MISSING                  no such comment
--         OVERTAKEN                it has another text by now than was read, or another status
--         DUPLICATE id             this comment has the new text already
--         APART                    it has replies of its own, or `root` is no root
-- INCLUDE place indexes version record_event
-- COST    O(log n)

local version, bodies, private, newest, liked = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local pinned, likes, replies, held = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local heldroots, heldliked, heldreplies, mine = KEYS[10], KEYS[11], KEYS[12], KEYS[13]
local fingerprints, longest, outbox, withdrawn = KEYS[14], KEYS[15], KEYS[16], KEYS[17]
local id, at, root, owner = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local status, pin, now, before = ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local body, secrets, outdated, fingerprint = ARGV[9], ARGV[10], ARGV[11], ARGV[12]
local only, by, adopted = ARGV[13], ARGV[14], ARGV[15]

if redis.call('HEXISTS', bodies, id) == 0 then
  return {'MISSING'}
end
local was = redis.call('HGET', held, id) or 'approved'
if only ~= '' and only ~= was then
  return {'OVERTAKEN'}
end
if adopted == '1' then
  local first, last = '[' .. id .. ':', '(' .. id .. ';'
  local under = redis.call('ZLEXCOUNT', replies, first, last)
  under = under + redis.call('ZLEXCOUNT', heldreplies, first, last)
  local is_root = redis.call('ZSCORE', newest, root) or redis.call('ZSCORE', pinned, root)
    or redis.call('ZSCORE', heldroots, root)
  if under > 0 or not is_root then
    return {'APART'}
  end
end
if before ~= '' then
  local halves = redis.call('HGET', bodies, id) .. (redis.call('HGET', private, id) or '')
  if halves ~= before then
    return {'OVERTAKEN'}
  end
  local same = fingerprint ~= '' and redis.call('HGET', fingerprints, fingerprint)
  if same and same ~= id then
    return {'DUPLICATE', same}
  end
  redis.call('HSET', bodies, id, body)
  redis.call('HSET', private, id, secrets)
  if #body > tonumber(redis.call('GET', longest) or math.huge) then
    redis.call('SET', longest, #body)
  end
  if outdated ~= '' and redis.call('HGET', fingerprints, outdated) == id then
    redis.call('HDEL', fingerprints, outdated)
  end
  if fingerprint ~= '' then
    redis.call('HSET', fingerprints, fingerprint, id)
  end
end

if status == '' then
  status = was
end
if adopted == '1' then
  for _, index in ipairs({newest, liked, pinned, heldroots, heldliked}) do
    redis.call('ZREM', index, id)
  end
end
local seen = ''
if status == 'approved' then
  redis.call('HDEL', held, id)
  seen = redis.call('ZSCORE', withdrawn, id) or ''
  redis.call('ZREM', withdrawn, id)
else
  redis.call('HSET', held, id, status)
  if was == 'approved' then
    redis.call('ZADD', withdrawn, 1, id)
  end
end
local is_pinned = pin == '1' or pin == '' and redis.call('ZSCORE', pinned, id)
index_comment(status, is_pinned, redis.call('HGET', likes, id) or 0)

local visible = redis.call('HLEN', bodies) - redis.call('HLEN', held)
local raised = raise_version(version, now)
record_event(was, status, raised, seen)
return {'OK', raised, visible, was}
