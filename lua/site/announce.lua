-- Announce a page's change to the site's indexes; changes may come in any order, and repeatedly.
--
-- KEYS    recent   zset    {site}:recent   approved comments by time
--         waiting  zset    {site}:waiting  comments that wait for approval, by time
--         spam     zset    {site}:spam     comments held as spam, by time
--         own      zset    {site}:own:<account>  held comments of one account, by time
--         totals   hash    {site}:totals   page -> "<version> <approved comments>", for every page
--         total    string  {site}:total    approved comments of the site: the sum of totals
--         authors  zset    {site}:authors  authors by how many approved comments they have
--         faces    hash    {site}:faces    author -> an approved comment, which has the author's name
--         applied  zset    {site}:applied  what was announced lately, by the page's version: ids of
--                                          comments (their newest change), and names of changes
--         log      stream  {site}:log      what moderators did lately
-- ARGV    id       text    the comment's whole id
--         at       int     insertion time, ms since the epoch
--         status   text    approved | waiting | spam | deleted
--         owner    flag    the author has an account
--         page     text    digest
--         version  int     the page's, after the change: ms since the epoch at least
--         visible  int     approved comments of the page, after the change; negative: not known
--         author   text    empty: not tallied
--         gained   int     1, 0 or -1: the difference in the author's approved comments
--         change   text    the change's name, the same whenever it is announced
--         before   int     ms since the epoch: entries of applied with older versions are removed
--         entry... text    fields and values for the log, in turn; none: nobody moderated
-- RETURNS OK total         approved comments of the site now
-- INCLUDE place
-- FLAGS   no-promise
-- COST    O(log n)

local recent, waiting, spam, own = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local totals, total, authors, faces, applied = KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local log = KEYS[10]
local id, at, status, owner, page = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local version, visible, author = ARGV[6], tonumber(ARGV[7]), ARGV[8]
local gained, change, before, entry = tonumber(ARGV[9]), ARGV[10], ARGV[11], ARGV

-- The index of the log's entry, and about how many entries the log has.
local FIRST, LOGGED = 12, 10000

-- The change with the newest version decides where a comment belongs, whichever comes last.
if tonumber(version) >= tonumber(redis.call('ZSCORE', applied, id) or 0) then
  redis.call('ZADD', applied, version, id)
  place(recent, at, id, status == 'approved')
  place(waiting, at, id, status == 'waiting')
  place(spam, at, id, status == 'spam')
  place(own, at, id, owner == '1' and (status == 'waiting' or status == 'spam'))
end

-- The same for a page and the number of its comments.
local known = redis.call('HGET', totals, page) or '0 0'
local known_version, known_visible = string.match(known, '^(%d+) (%d+)$')
if visible >= 0 and tonumber(version) > tonumber(known_version) then
  redis.call('HSET', totals, page, version .. ' ' .. visible)
  redis.call('INCRBY', total, visible - tonumber(known_visible))
end
-- A tally is a sum of changes, so each change counts exactly once. It may be below zero for a while:
-- the hold of a comment may be announced before the comment itself.
local is_tallied, is_logged = author ~= '' and gained ~= 0, #entry >= FIRST
if (is_tallied or is_logged) and redis.call('ZADD', applied, version, change) == 1 then
  local number = is_tallied and tonumber(redis.call('ZINCRBY', authors, gained, author))
  if number == 0 then
    redis.call('ZREM', authors, author)
    redis.call('HDEL', faces, author)
  elseif gained > 0 then
    redis.call('HSET', faces, author, id)
  end
  if is_logged then
    redis.call('XADD', log, 'MAXLEN', '~', LOGGED, '*', unpack(entry, FIRST))
  end
end
-- At most two entries were added, so to remove ten keeps the set from growing.
local old = redis.call('ZRANGE', applied, '-inf', '(' .. before, 'BYSCORE', 'LIMIT', 0, 10)
if #old > 0 then
  redis.call('ZREM', applied, unpack(old))
end
return {'OK', tonumber(redis.call('GET', total) or 0)}
