-- Let the site follow entries of a page's journal. Each takes effect once, however often it is sent:
-- the site remembers the last one of each page.
--
-- KEYS    recent    zset    {site}:recent    approved comments by time
--         waiting   zset    {site}:waiting   pending comments, by time
--         spam      zset    {site}:spam      spam comments, by time
--         totals    hash    {site}:totals    page -> "<version> <approved comments>", for every page:
--                                            the version of the last entry that was followed
--         total     string  {site}:total     approved comments of the site: the sum of totals
--         authors   zset    {site}:authors   authors by number of approved comments
--         log       stream  {site}:log       recent moderator actions
--         filtered  stream  {site}:filtered  recent actions of spam filters
--         outbox    stream  {site}:outbox    queued tasks
--         changing  zset    {site}:changing  changes in progress, by start, ms
--         removals  zset    {site}:removals  pages with deleted comments, by when to remove
--                                            them, ms
--         bin       zset    {site}:bin       comments deleted by themselves, by the version that did it
--         lists...  zset    {site}:own:<account>, {site}:by:<author>: lists of comments that the
--                           entries name by their place here, 0 for none
-- ARGV    page      text    digest
--         change    text    the member of `changing` that has ended; empty: none
--         entries... text   of each in turn: its version; approved comments of the page, below zero
--                           if unknown; when its page's removals are due, 0 if nothing was deleted or
--                           restored; the number of comments, and of each its id, its time in ms, its
--                           status now, the places of the lists `own` before and now and `by` before
--                           and now, and of its author before and now; is it a filter's; the
--                           number of words for its log, and these; a task, or empty
-- RETURNS OK version told   of the last entry followed; the number of new tasks
-- INCLUDE place
-- FLAGS   no-promise
-- COST    O(comments * log n)

-- The keys before the lists, and about how many entries the logs have: a wave of spam must not push
-- out what moderators did.
local LOGGED, FILTERED = 10000, 1000

local known = redis.call('HGET', totals, page) or '0 0'
local followed, shown = string.match(known, '^(%d+) (%d+)$')
followed, shown = tonumber(followed), tonumber(shown)
local told, at = 0, ARGV_BEFORE + 1

local function word()
  at = at + 1
  return entries[at - 1]
end

local function words(number)
  at = at + number
  return unpack(entries, at - number, at - 1)
end

-- Put a comment into a list or remove it, which counts its author's approved comments.
local function list(number, id, is_in, author)
  if number == '0' then
    return
  end
  local index = lists[KEYS_BEFORE + tonumber(number)]
  place(index, 0, id, is_in)
  if author then
    local count = redis.call('ZCARD', index)
    place(authors, count, author, count > 0)
  end
end

local function follow(id, time, status, own_was, own, by_was, by, author_was, author)
  local is_held = status == 'waiting' or status == 'spam'
  place(recent, time, id, status == 'approved')
  place(waiting, time, id, status == 'waiting')
  place(spam, time, id, status == 'spam')
  list(own_was, id, false)
  list(own, id, is_held)
  list(by_was, id, false, author_was)
  list(by, id, status == 'approved', author)
end

while at <= #entries do
  local version, visible, due, comments = tonumber(word()), tonumber(word()), word(), tonumber(word())
  local is_new = version > followed
  for _ = 1, comments do
    local id, time, status, own_was, own, by_was, by, author_was, author = words(9)
    if is_new then
      follow(id, time, status, own_was, own, by_was, by, author_was, author)
      if due ~= '0' then
        place(bin, version, id, status == 'deleted')
      end
    end
  end
  local is_filtered, logged = word() == '1', tonumber(word())
  local from = at
  at = at + logged
  local task = word()
  if is_new then
    followed = version
    if visible >= 0 then
      redis.call('INCRBY', total, visible - shown)
      shown = visible
    end
    if due ~= '0' then
      redis.call('ZADD', removals, 'LT', due, page)
    end
    if logged > 0 then
      redis.call(
        'XADD', is_filtered and filtered or log, 'MAXLEN', '~', is_filtered and FILTERED or LOGGED,
        '*', unpack(entries, from, from + logged - 1)
      )
    end
    if task ~= '' then
      redis.call('XADD', outbox, '*', 'task', task)
      told = told + 1
    end
  end
end
-- Written again even if nothing is new: then a caller that waits for it to be durable waits for all above.
if followed > 0 then
  redis.call('HSET', totals, page, string.format('%.0f %.0f', followed, shown))
end
if change ~= '' then
  redis.call('ZREM', changing, change)
end
return {'OK', followed, told}
