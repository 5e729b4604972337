-- End a task of the outbox: done, followed by other tasks now or later, or failed permanently.
--
-- KEYS    outbox       stream  {site}:outbox       queued tasks
--         retries      zset    {site}:retries      tasks by next attempt, ms
--         undelivered  stream  {site}:undelivered  tasks that failed permanently
-- ARGV    group        text    the consumers' group
--         entry        text    id of the task's entry
--         error        text    why the first of `follow` failed permanently; empty: it did not
--         follow...[2] text    time in ms since the epoch, or 0 for now, and task, in turn
-- RETURNS OK
--         SETTLED              another worker has ended it: nothing was changed
-- FLAGS   no-promise
-- COST    O(follow * log n)

-- The index of the first task, and about the number of failed tasks to keep.
local KEPT = 10000

if redis.call('XACK', outbox, group, entry) == 0 then
  return {'SETTLED'}
end
redis.call('XDEL', outbox, entry)
for i = ARGV_BEFORE + 1, #follow, ARGV_EACH do
  if error ~= '' and i == ARGV_BEFORE + 1 then
    redis.call('XADD', undelivered, 'MAXLEN', '~', KEPT, '*', 'task', follow[i + 1], 'error', error)
  elseif follow[i] == '0' then
    redis.call('XADD', outbox, '*', 'task', follow[i + 1])
  else
    redis.call('ZADD', retries, follow[i], follow[i + 1])
  end
end
return {'OK'}
