-- End a task of the outbox: it is done, is followed by others, at once or later, or is given up.
--
-- KEYS    outbox       stream  {site}:outbox       tasks to be done
--         retries      zset    {site}:retries      tasks by when they are tried again, ms
--         undelivered  stream  {site}:undelivered  tasks that were given up
-- ARGV    group        text    the consumers' group
--         entry        text    id of the task's entry
--         error        text    why the first of `follow` is given up; empty if it is not
--         follow...    text    when, ms since the epoch or 0 for at once, and task, in turn
-- RETURNS OK
--         SETTLED              another worker has ended it: nothing was changed
-- FLAGS   no-promise
-- COST    O(follow * log n)

local outbox, retries, undelivered = KEYS[1], KEYS[2], KEYS[3]
local group, entry, error, follow = ARGV[1], ARGV[2], ARGV[3], ARGV

-- The index of the first task, and about how many given-up tasks are kept.
local FIRST, KEPT = 4, 10000

if redis.call('XACK', outbox, group, entry) == 0 then
  return {'SETTLED'}
end
redis.call('XDEL', outbox, entry)
for i = FIRST, #follow, 2 do
  if error ~= '' and i == FIRST then
    redis.call('XADD', undelivered, 'MAXLEN', '~', KEPT, '*', 'task', follow[i + 1], 'error', error)
  elseif follow[i] == '0' then
    redis.call('XADD', outbox, '*', 'task', follow[i + 1])
  else
    redis.call('ZADD', retries, follow[i], follow[i + 1])
  end
end
return {'OK'}
