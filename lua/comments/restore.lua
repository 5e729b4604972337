-- Restore a deleted comment with the replies deleted with it, or continue.
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
--         heldliked    zset    {p}:heldliked
--         heldreplies  zset    {p}:heldreplies
--         mine         zset    {p}:mine
--         nested       zset    {p}:nested
--         hidden       hash    {p}:hidden
--         deleted      zset    {p}:deleted
--         gone         zset    {p}:gone
--         decided      hash    {p}:decided
--         journal      stream  {p}:journal
-- ARGV    id           text
--         at           int     insertion time, ms since the epoch
--         root         text    id of its root, empty for a root
--         parent       text    id of its parent, empty for a root
--         begins       flag    restore it; otherwise, only continue with its replies
--         now          int     ms since the epoch: the new version is at least this
--         most         number  replies to restore
--         bytes        number  stop after this many bytes of bodies
--         only         text    what it must be, as in includes/gate.lua
--         seen         text    empty: a deleted comment keeps its text
--         by           text    moderator
--         actor        text    as in includes/record.lua
-- RETURNS OK version remaining entries  done; number of replies still to restore; the journal's
--                                       oldest entries
--         MISSING                       not deleted by itself, or its root is missing, or its
--                                       parent is deleted; when continuing: it is deleted
--         OVERTAKEN                     it is not what was read
-- INCLUDE place status_of is_root gate decide indexes version author_of count_visible record unapplied
-- COST    O(most * log n), and the bytes of their bodies

local is_deleted = redis.call('ZSCORE', deleted, id)
if (begins == '1') ~= (is_deleted and true or false) or (root ~= '' and not is_root(root)) then
  return {'MISSING'}
end
if begins == '1' and parent ~= root and redis.call('ZSCORE', deleted, parent) then
  return {'MISSING'}
end
if begins == '1' and not is_as_read(id, 'deleted', '') then
  return {'OVERTAKEN'}
end
local first, last = '[' .. id .. ':', '(' .. id .. ';'
local changes = {}

local function show(each, under, stored)
  local stood = redis.call('HGET', held, each) or 'deleted approved'
  local words = string.sub(stood, #'deleted ' + 1)
  local is_pinned = string.sub(words, -#' pinned') == ' pinned'
  if is_pinned then
    words = string.sub(words, 1, -#' pinned' - 1)
  end
  local account, author = author_of(stored)
  local status = string.match(words, '^%l+')
  if status == 'approved' then
    redis.call('HDEL', held, each)
  else
    redis.call('HSET', held, each, words)
  end
  index_comment(each, at, under, account, status, is_pinned, redis.call('HGET', likes, each) or 0)
  local pin = is_pinned and '1' or '0'
  changes[#changes + 1] = {
    each, each == id and 'deleted' or 'gone', status, '-', pin, pin,
    account, account, author, author,
  }
end

local function count_hidden(kind, number)
  if number ~= 0 and redis.call('HINCRBY', hidden, kind, -number) == 0 then
    redis.call('HDEL', hidden, kind)
  end
end

if begins == '1' then
  redis.call('ZREM', deleted, id)
  decide(id)
  show(id, root, redis.call('HGET', bodies, id))
  if root == '' then
    count_hidden('approved', redis.call('ZLEXCOUNT', replies, first, last))
    count_hidden('held', redis.call('ZLEXCOUNT', heldreplies, first, last))
  elseif parent ~= root then
    redis.call('ZADD', nested, 0, parent .. ':' .. id)
  end
end

local size = 0
for _, member in ipairs(redis.call('ZRANGEBYLEX', gone, first, last, 'LIMIT', 0, most)) do
  local reply = string.sub(member, #id + 2)
  local stored = redis.call('HGET', bodies, reply) or ''
  size = size + #stored
  if size > bytes and #changes > 1 then
    break
  end
  redis.call('ZREM', gone, member)
  show(reply, root == '' and id or root, stored)
  if root ~= '' then
    redis.call('ZADD', nested, 0, member)
  end
end

local raised = tonumber(redis.call('GET', version) or 0)
if #changes > 0 then
  raised = raise_version(version, now)
  record(raised, 'restore', changes, '')
end
return {'OK', raised, redis.call('ZLEXCOUNT', gone, first, last), unapplied()}
