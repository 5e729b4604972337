-- Queue the emails about a week, once.
--
-- KEYS    outbox    stream  {site}:outbox    queued tasks
--         weekly    string  {site}:weekly    the first day of the last week that was written about, such as 20261123
-- ARGV    week      int     the first day of this one
--         tasks...  json    the tasks to queue
-- RETURNS STARTED
--         IDLE              it was written about, or a later one
-- FLAGS   no-promise
-- COST    O(tasks)

if tonumber(redis.call('GET', weekly) or 0) >= tonumber(week) then
  return {'IDLE'}
end
redis.call('SET', weekly, week)
for i = ARGV_BEFORE + 1, #tasks do
  redis.call('XADD', outbox, '*', 'task', tasks[i])
end
return {'STARTED'}
