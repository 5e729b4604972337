-- Tell the site's indexes what a page's script has just done; saying it twice changes nothing.
--
-- KEYS    recent   zset    {site}:recent   newest approved comments by time, trimmed
--         waiting  zset    {site}:waiting  comments that wait for approval, by time
--         spam     zset    {site}:spam     comments held as spam, by time
--         own      zset    {site}:own:<account>  held comments of one account, by time
--         totals   hash    {site}:totals   page -> "<version> <approved comments>": every page there is
--         total    string  {site}:total    approved comments of the site: the sum of totals
--         authors  hash    {site}:authors  author -> approved comments
--         heard    zset    {site}:heard    names of the latest changes, by time
-- ARGV    id       text    with its page
--         at       int     insertion time, ms since the epoch
--         status   text    approved | waiting | spam
--         owner    flag    the author has an account
--         page     text    digest
--         version  int     the page's, after the change
--         visible  int     approved comments of the page, after the change
--         author   text    empty: not tallied
--         gained   int     1, 0 or -1: what the change did to the author's approved comments
--         change   text    the change's name, the same whenever it is announced
--         keep     int     length that recent and heard are trimmed to
--         now      int     ms since the epoch
-- RETURNS OK total         approved comments of the site now
-- COST    O(log n)

local recent, waiting, spam, own = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local totals, total, authors, heard = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local id, at, status, owner, page = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local version, visible, author = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8]
local gained, change, keep, now = tonumber(ARGV[9]), ARGV[10], tonumber(ARGV[11]), ARGV[12]

local function place(index, is_in)
  if is_in then
    redis.call('ZADD', index, at, id)
  else
    redis.call('ZREM', index, id)
  end
end
place(recent, status == 'approved')
place(waiting, status == 'waiting')
place(spam, status == 'spam')
place(own, owner == '1' and status ~= 'approved')
redis.call('ZREMRANGEBYRANK', recent, 0, -keep - 1)

-- Two changes of one page may be announced in either order: the newer version wins.
local known = redis.call('HGET', totals, page) or '0 0'
local known_version, known_visible = string.match(known, '^(%d+) (%d+)$')
if version > tonumber(known_version) then
  redis.call('HSET', totals, page, version .. ' ' .. visible)
  redis.call('INCRBY', total, visible - tonumber(known_visible))
end
-- A tally is a sum of changes, so each of them counts, whichever comes first, but once.
if author ~= '' and gained ~= 0 and redis.call('ZADD', heard, now, change) == 1 then
  redis.call('ZREMRANGEBYRANK', heard, 0, -keep - 1)
  if redis.call('HINCRBY', authors, author, gained) <= 0 then
    redis.call('HDEL', authors, author)
  end
end
return {'OK', tonumber(redis.call('GET', total) or 0)}
