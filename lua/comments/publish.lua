-- Store and index one comment, unless the same author has posted the same text before.
--
-- KEYS    version      string  {p}:version       raised by every change of the page
--         path         string  {p}:path          the article's path
--         bodies       hash    {p}:bodies        comment id -> public JSON
--         private      hash    {p}:private       comment id -> JSON for administrators
--         newest       zset    {p}:newest        approved roots by insertion time (ms)
--         liked        zset    {p}:liked         the same roots by like count
--         pinned       zset    {p}:pinned        pinned roots of any status by time
--         likes        hash    {p}:likes         comment id -> likes; a new one has none
--         replies      zset    {p}:replies       approved replies, member <root>:<id>, score 0
--         held         hash    {p}:held          comment id -> status and mark, unless approved
--         heldroots    zset    {p}:heldroots     held roots by insertion time (ms)
--         heldliked    zset    {p}:heldliked     the same roots by like count
--         heldreplies  zset    {p}:heldreplies   held replies, member <root>:<id>, score 0
--         mine         zset    {p}:mine          held comments of accounts, <account>:<id>, score 0
--         nested       zset    {p}:nested        replies to replies, <parent>:<id>, score 0
--         hidden       hash    {p}:hidden        replies below deleted roots that are still indexed
--         fingerprints hash    {p}:fingerprints  fingerprint of author and text -> comment id
--         longest      string  {p}:longest       bytes of the page's longest body; missing
--                                                if unknown
--         decided      hash    {p}:decided       comment id -> its last change (includes/gate.lua)
--         journal      stream  {p}:journal       changes that the site has not followed yet
-- ARGV    id           text    sorts by age, so that members with equal scores do
--         at           int     insertion time, ms since the epoch; the new version is at least this
--         article      text    the path
--         body         json    opaque here, but for its author
--         secrets      json    opaque here
--         status       text    approved | waiting | spam
--         parent       text    id of the comment replied to, empty for a root
--         root         text    id of the root replied under, empty for a root
--         needs        text    which of both must exist: an imported reply may precede its
--                              parent; empty for a root
--         fingerprint  text    of author and text; empty: duplicates are allowed
--         liking       number  likes of an imported comment; 0 for a new one
--         pin          flag    it is pinned (imports)
--         mark         text    of an unpublished one moved from another page; else empty
--         decision     text    of one moved from another page: its last change; else empty
--         by           text    author | import | move
--         actor        text    empty
-- RETURNS OK version entries   stored; the journal's oldest entries
--         DUPLICATE id         this comment has the same author and text
--         TAKEN                the id exists already
--         ORPHAN               what it needs is missing or deleted, or the root is a reply
-- INCLUDE place status_of hold is_root indexes version author_of count_visible record unapplied
-- COST    O(log n)

-- A deleted comment does not prevent the same text.
local same = fingerprint ~= '' and redis.call('HGET', fingerprints, fingerprint)
if same and status_of(same) ~= 'deleted' then
  return {'DUPLICATE', same}
end
if needs ~= '' then
  local is_there = redis.call('HEXISTS', bodies, needs) == 1 and status_of(needs) ~= 'deleted'
  if not is_there or not is_root(root) then
    return {'ORPHAN'}
  end
end
if redis.call('HSETNX', bodies, id, body) == 0 then
  return {'TAKEN'}
end
local is_first = redis.call('HLEN', bodies) == 1
local known = is_first and '0' or redis.call('GET', longest)
if known and #body > tonumber(known) then
  redis.call('SET', longest, #body)
end
redis.call('SET', path, article)
redis.call('HSET', private, id, secrets)
if fingerprint ~= '' then
  redis.call('HSET', fingerprints, fingerprint, id)
end

hold(id, status, mark)
if decision ~= '' then
  redis.call('HSET', decided, id, decision)
end
if liking > 0 then
  redis.call('HSET', likes, id, liking)
end
if parent ~= root then
  redis.call('ZADD', nested, 0, parent .. ':' .. id)
end
local account, author = author_of(body)
local is_pinned = pin == '1' and root == ''
index_comment(id, at, root, account, status, is_pinned, liking)

local raised, pinned_now = raise_version(version, at), is_pinned and '1' or '0'
local change = {id, '-', status, '-', '0', pinned_now, account, account, author, author}
record(raised, 'publish', {change}, '')
return {'OK', raised, unapplied()}
