-- Queue the tasks that are due for a retry.
--
-- KEYS    outbox   stream  {site}:outbox   queued tasks
--         retries  zset    {site}:retries  tasks by next attempt, ms
-- ARGV    now      int     ms since the epoch
--         most     int     at most this many
-- RETURNS OK woken
-- FLAGS   no-promise
-- COST    O(most * log n)

local due = redis.call('ZRANGE', retries, '-inf', now, 'BYSCORE', 'LIMIT', 0, most)
for _, task in ipairs(due) do
  redis.call('ZREM', retries, task)
  redis.call('XADD', outbox, '*', 'task', task)
end
return {'OK', #due}
