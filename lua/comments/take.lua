-- Take comments from a page, to give them to another page. They stay here until they have arrived
-- there.
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
--         fingerprints hash    {p}:fingerprints
--         decided      hash    {p}:decided
--         moving       hash    {p}:moving  "<move> <id> <part>", part of a comment being moved
--         journal      stream  {p}:journal
-- ARGV    move         text    its id
--         now          int     ms since the epoch: the new version is at least this
--         by           text    move
--         actor        text    empty
--         comments...[5] text    of each in turn: its id, its root's and its parent's, or empty; the fingerprint of its
--                              author and text; and its body as it was read: one that has changed
--                              stays, like a deleted one and its replies
-- RETURNS OK taken entries     their number; the journal's oldest entries
-- INCLUDE place status_of hold indexes version author_of count_visible record unapplied
-- COST    O(comments * log n)

local changes = {}

-- Move a part of a comment to `moving`.
local function keep(id, part, words)
  if words then
    redis.call('HSET', moving, move .. ' ' .. id .. ' ' .. part, words)
  end
end

for i = ARGV_BEFORE + 1, #comments, ARGV_EACH do
  local id, root, parent = comments[i], comments[i + 1], comments[i + 2]
  local fingerprint, body, was = comments[i + 3], comments[i + 4], status_of(id)
  local is_gone = was == 'deleted' or status_of(root) == 'deleted' or status_of(parent) == 'deleted'
  if not is_gone and redis.call('HGET', bodies, id) == body then
    local is_pinned = redis.call('ZSCORE', pinned, id) and '1' or '0'
    local account, author = author_of(body)
    keep(id, 'body', body)
    keep(id, 'private', redis.call('HGET', private, id))
    keep(id, 'likes', redis.call('HGET', likes, id))
    keep(id, 'held', redis.call('HGET', held, id))
    keep(id, 'pinned', is_pinned)
    keep(id, 'decided', redis.call('HGET', decided, id))
    index_comment(id, 0, root, account, 'deleted', false, 0)
    redis.call('HDEL', bodies, id)
    redis.call('HDEL', private, id)
    redis.call('HDEL', likes, id)
    redis.call('HDEL', decided, id)
    hold(id, 'approved', '')
    if parent ~= root then
      redis.call('ZREM', nested, parent .. ':' .. id)
    end
    if redis.call('HGET', fingerprints, fingerprint) == id then
      redis.call('HDEL', fingerprints, fingerprint)
    end
    changes[#changes + 1] = {id, was, 'gone', '-', is_pinned, '0', account, account, author, author}
  end
end
if #changes > 0 then
  record(raise_version(version, now), 'move', changes, '')
end
return {'OK', #changes, unapplied()}
