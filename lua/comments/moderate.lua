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
--         mine         zset    {p}:mine
--         nested       zset    {p}:nested
--         hidden       hash    {p}:hidden
--         gone         zset    {p}:gone
--         fingerprints hash    {p}:fingerprints
--         longest      string  {p}:longest
--         journal      stream  {p}:journal
-- ARGV    id           text
--         at           int     insertion time, ms since the epoch
--         root         text    id of the root that it is a reply under, empty for a root
--         under        text    id of the root that it becomes a reply under; empty: it stays
--         parent       text    id of the comment that it then replies to; empty: it stays
--         parent_was   text    and that it replied to until now; empty for a root
--         status       text    approved | waiting | spam; empty: unchanged
--         pin          text    1 | 0; empty: unchanged, and for every reply
--         now          int     ms since the epoch: the new version is at least this
--         before       text    both halves as they were read, joined; empty: the text stays
--         body         json    opaque here, but for its author, as are the secrets
--         secrets      json    body, secrets and fingerprints only come with a new text
--         outdated     text    fingerprint of the author's old text; empty: none, or it stays
--         fingerprint  text    fingerprint of the new text; empty: it is not compared
--         only         text    the status that it must still have; empty: any
--         by           text    author | moderator | judge | import | erasure
--         actor        text    the moderator's account; empty for others
--         lengths      text    characters of the text before and now, for the log; empty: it stays
-- RETURNS OK was changed entries  the status before; 1, or 0 if there was nothing to do; the journal's
--                                 oldest entries
--         MISSING                 no such comment, or it is deleted
--         OVERTAKEN               it has another text, status or root by now than was read
--         DUPLICATE id            this comment has the new text already
--         APART                   it has replies of its own, some of which may still come back, or
--                                 `under` is no root
-- INCLUDE place status_of hold is_below is_root indexes version author_of count_visible record unapplied
-- COST    O(log n)

local version, bodies, private, newest, liked = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local pinned, likes, replies, held, heldroots = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local heldliked, heldreplies, mine, nested = KEYS[11], KEYS[12], KEYS[13], KEYS[14]
local hidden, gone, fingerprints, longest = KEYS[15], KEYS[16], KEYS[17], KEYS[18]
local journal = KEYS[19]
local id, at, root, under, parent = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local parent_was, status, pin, now = ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local before, body, secrets, outdated = ARGV[10], ARGV[11], ARGV[12], ARGV[13]
local fingerprint, only, by, actor, lengths = ARGV[14], ARGV[15], ARGV[16], ARGV[17], ARGV[18]

local stored, was, mark = redis.call('HGET', bodies, id), status_of(id)
if not stored or was == 'deleted' or (root ~= '' and status_of(root) == 'deleted') then
  return {'MISSING'}
end
if only ~= '' and only ~= was or not is_below(stored, root, parent_was) then
  return {'OVERTAKEN'}
end
if under ~= '' then
  local first, last = '[' .. id .. ':', '(' .. id .. ';'
  local below = redis.call('ZLEXCOUNT', replies, first, last)
  below = below + redis.call('ZLEXCOUNT', heldreplies, first, last)
  below = below + redis.call('ZLEXCOUNT', gone, first, last)
  if below > 0 or under == id or not is_root(under) then
    return {'APART'}
  end
end
local account_was, author_was = author_of(stored)
local account, author = account_was, author_was
if before ~= '' then
  if stored .. (redis.call('HGET', private, id) or '') ~= before then
    return {'OVERTAKEN'}
  end
  local same = fingerprint ~= '' and redis.call('HGET', fingerprints, fingerprint)
  if same and same ~= id and status_of(same) ~= 'deleted' then
    return {'DUPLICATE', same}
  end
  account, author = author_of(body)
end
local was_pinned = redis.call('ZSCORE', pinned, id) and '1' or '0'
local is_pinned = pin == '' and was_pinned or pin
if under ~= '' then
  is_pinned = '0'
end
if status == '' then
  status = was
end
if before == '' and under == '' and status == was and is_pinned == was_pinned then
  return {'OK', was, 0, unapplied()}
end

if before ~= '' then
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
local like_count = redis.call('HGET', likes, id) or 0
if account ~= account_was or under ~= '' then
  index_comment(id, at, root, account_was, 'deleted', false, like_count)
end
local place_now = under ~= '' and under or root
if parent ~= '' then
  place(nested, 0, parent_was .. ':' .. id, false)
  place(nested, 0, parent .. ':' .. id, parent ~= place_now)
end
hold(id, status, was == 'approved' and '1' or mark)
index_comment(id, at, place_now, account, status, is_pinned == '1', like_count)

local raised = raise_version(version, now)
local told = status == 'approved' and mark ~= '' and mark or '-'
local change = {
  id, was, status, told, was_pinned, is_pinned, account_was, account, author_was, author,
}
record(raised, before ~= '' and 'edit' or 'moderate', {change}, lengths)
return {'OK', was, 1, unapplied()}
