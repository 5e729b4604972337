-- Queue a task again that failed permanently.
--
-- KEYS    outbox       stream  {site}:outbox       queued tasks
--         undelivered  stream  {site}:undelivered  tasks that failed permanently
-- ARGV    entry        text    id of the task's entry there
--         task         text    the task
-- RETURNS OK
--         MISSING              there is no such entry
-- FLAGS   no-promise
-- COST    O(1)

if redis.call('XDEL', undelivered, entry) == 0 then
  return {'MISSING'}
end
redis.call('XADD', outbox, '*', 'task', task)
return {'OK'}
