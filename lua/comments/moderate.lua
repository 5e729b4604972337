-- Change a comment's text or status, or pin or unpin a root.
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
--         hidden       hash    {p}:hidden
--         fingerprints hash    {p}:fingerprints
--         longest      string  {p}:longest
--         decided      hash    {p}:decided
--         journal      stream  {p}:journal
-- ARGV    id           text
--         at           int     insertion time, ms since the epoch
--         root         text    id of its root, empty for a root
--         status       text    approved | waiting | spam; empty: unchanged
--         pin          text    1 | 0; empty: unchanged, and for every reply
--         now          int     ms since the epoch: the new version is at least this
--         before       text    body and secrets as they were read, joined; empty: the text stays
--         body         json    opaque here, but for its author, as are the secrets
--         secrets      json    body, secrets and fingerprints only come with a new text
--         outdated     text    fingerprint of the author's old text; empty: none, or it stays
--         fingerprint  text    fingerprint of the new text; empty: it is not compared
--         only         text    what it must be, as in includes/gate.lua
--         seen         text    likewise
--         by           text    author | moderator | judge | readers | erasure
--         actor        text    as in includes/record.lua
--         lengths      text    characters of the text before and now, for the log; empty: it stays
-- RETURNS OK was changed entries  the status before; 1, or 0 if there was nothing to do; the journal's
--                                 oldest entries
--         MISSING                 no such comment, or it is deleted
--         OVERTAKEN               it is not what was read
--         DUPLICATE id            this comment has the new text already
-- INCLUDE place status_of hold gate decide indexes version author_of count_visible record unapplied
-- COST    O(log n)

local stored, was, mark = redis.call('HGET', bodies, id), status_of(id)
if not stored or was == 'deleted' or (root ~= '' and status_of(root) == 'deleted') then
  return {'MISSING'}
end
if not is_as_read(id, was, stored) then
  return {'OVERTAKEN'}
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
if status == '' then
  status = was
end
if before == '' and status == was and is_pinned == was_pinned then
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
if account ~= account_was then
  index_comment(id, at, root, account_was, 'deleted', false, like_count)
end
hold(id, status, was == 'approved' and '1' or mark)
index_comment(id, at, root, account, status, is_pinned == '1', like_count)

decide(id)
local raised = raise_version(version, now)
local told = status == 'approved' and mark ~= '' and mark or '-'
local change = {
  id, was, status, told, was_pinned, is_pinned, account_was, account, author_was, author,
}
record(raised, before ~= '' and 'edit' or 'moderate', {change}, lengths)
return {'OK', was, 1, unapplied()}
