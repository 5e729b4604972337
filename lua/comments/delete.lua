-- Delete a comment, or continue: from now on, it and its replies are hidden.
-- It can be restored until comments/remove.lua removes it.
--
-- Replies of a root are discounted immediately, and leave the indexes in steps: call this script
-- again while any remain. Replies to a reply are deleted with it.
--
-- KEYS    version      string  {p}:version
--         bodies       hash    {p}:bodies
--         newest       zset    {p}:newest
--         liked        zset    {p}:liked
--         pinned       zset    {p}:pinned
--         replies      zset    {p}:replies
--         held         hash    {p}:held
--         heldroots    zset    {p}:heldroots
--         heldliked    zset    {p}:heldliked
--         heldreplies  zset    {p}:heldreplies
--         mine         zset    {p}:mine
--         nested       zset    {p}:nested
--         hidden       hash    {p}:hidden
--         deleted      zset    {p}:deleted   deleted comments, by time, ms
--         gone         zset    {p}:gone      replies deleted with one of them, member <deleted>:<id>
--         decided      hash    {p}:decided
--         journal      stream  {p}:journal
-- ARGV    id           text
--         root         text    id of its root, empty for a root
--         parent       text    id of its parent, empty for a root
--         begins       flag    delete it; otherwise, only continue with its replies
--         now          int     ms since the epoch: the new version is at least this
--         most         number  replies that leave the indexes
--         bytes        number  stop after this many bytes of bodies
--         only         text    what it must be, as in includes/gate.lua
--         seen         text    likewise
--         by           text    author | moderator | erasure | sweeper
--         actor        text    as in includes/record.lua
-- RETURNS OK version remaining entries  done; number of replies still indexed; the journal's
--                                       oldest entries
--         GONE                          deleted before, by itself or with another one
--         OVERTAKEN                     it is not what was read
--         MISSING                       no such comment; when continuing: it is not deleted
-- INCLUDE place status_of gate decide indexes version author_of count_visible record unapplied
-- COST    O(most * log n), and the bytes of their bodies

local body, was = redis.call('HGET', bodies, id), status_of(id)
if not body or (begins == '0' and not redis.call('ZSCORE', deleted, id)) then
  return {'MISSING'}
end
if begins == '1' and (was == 'deleted' or (root ~= '' and status_of(root) == 'deleted')) then
  return {'GONE'}
end
if begins == '1' and not is_as_read(id, was, body) then
  return {'OVERTAKEN'}
end
local first, last = '[' .. id .. ':', '(' .. id .. ';'
local changes = {}

-- Remove a comment from all indexes, and store its former status. It is `deleted` by itself, or `gone`
-- with the one that is.
local function hide(each, under, stored, is_pinned)
  local words = redis.call('HGET', held, each) or 'approved'
  local account, author = author_of(stored)
  index_comment(each, 0, under, account, 'deleted', false, 0)
  redis.call('HSET', held, each, 'deleted ' .. words .. (is_pinned and ' pinned' or ''))
  local pin = is_pinned and '1' or '0'
  local before = string.match(words, '^%l+')
  changes[#changes + 1] = {
    each, before, each == id and 'deleted' or 'gone', '-', pin, pin,
    account, account, author, author,
  }
  return before
end

-- Count a reply below a deleted root that is still indexed, or no longer.
local function count_hidden(kind, number)
  if number ~= 0 and redis.call('HINCRBY', hidden, kind, number) == 0 then
    redis.call('HDEL', hidden, kind)
  end
end

if begins == '1' then
  hide(id, root, body, redis.call('ZSCORE', pinned, id))
  redis.call('ZADD', deleted, now, id)
  decide(id)
  if root == '' then
    count_hidden('approved', redis.call('ZLEXCOUNT', replies, first, last))
    count_hidden('held', redis.call('ZLEXCOUNT', heldreplies, first, last))
  elseif parent ~= root then
    redis.call('ZREM', nested, parent .. ':' .. id)
  end
end

-- Unpublished ones first, since they are in their authors' own lists until they are hidden.
local size, is_below_deleted = 0, root == '' or status_of(root) == 'deleted'
for _, index in ipairs(root == '' and {heldreplies, replies} or {nested}) do
  for _, member in ipairs(redis.call('ZRANGEBYLEX', index, first, last, 'LIMIT', 0, most)) do
    local reply = string.sub(member, #id + 2)
    local stored = redis.call('HGET', bodies, reply) or ''
    size = size + #stored
    if #changes > most or size > bytes and #changes > 1 then
      break
    end
    if root ~= '' and status_of(reply) == 'deleted' then
      -- It was deleted with its root, whose restore may be in progress; this comment came first.
      redis.call('ZREM', gone, root .. ':' .. reply)
    else
      local before = hide(reply, root == '' and id or root, stored, false)
      if is_below_deleted then
        count_hidden(before == 'approved' and 'approved' or 'held', -1)
      end
    end
    redis.call('ZADD', gone, 0, member)
    if root ~= '' then
      redis.call('ZREM', nested, member)
    end
  end
end

local remaining = redis.call('ZLEXCOUNT', nested, first, last)
if root == '' then
  remaining = redis.call('ZLEXCOUNT', replies, first, last)
  remaining = remaining + redis.call('ZLEXCOUNT', heldreplies, first, last)
end
local raised = tonumber(redis.call('GET', version) or 0)
if #changes > 0 then
  raised = raise_version(version, now)
  record(raised, 'delete', changes, '')
end
return {'OK', raised, remaining, unapplied()}
