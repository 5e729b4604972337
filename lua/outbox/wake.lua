-- Put tasks whose time has come back into the outbox.
--
-- KEYS    outbox   stream  {site}:outbox   tasks to be done
--         retries  zset    {site}:retries  tasks by when they are tried again, ms
-- ARGV    now      int     ms since the epoch
--         most     int     at most so many
-- RETURNS OK woken
-- FLAGS   no-promise
-- COST    O(most * log n)

local outbox, retries = KEYS[1], KEYS[2]
local now, most = ARGV[1], ARGV[2]

local due = redis.call('ZRANGE', retries, '-inf', now, 'BYSCORE', 'LIMIT', 0, most)
for _, task in ipairs(due) do
  redis.call('ZREM', retries, task)
  redis.call('XADD', outbox, '*', 'task', task)
end
return {'OK', #due}
