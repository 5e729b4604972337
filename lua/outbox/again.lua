-- Put a task back into the outbox that was given up.
--
-- KEYS    outbox       stream  {site}:outbox       tasks to be done
--         undelivered  stream  {site}:undelivered  tasks that were given up
-- ARGV    entry        text    id of the task's entry there
--         task         text    the task to be tried
-- RETURNS OK
--         MISSING              there is no such entry, or not any more
-- FLAGS   no-promise
-- COST    O(1)

local outbox, undelivered = KEYS[1], KEYS[2]
local entry, task = ARGV[1], ARGV[2]

if redis.call('XDEL', undelivered, entry) == 0 then
  return {'MISSING'}
end
redis.call('XADD', outbox, '*', 'task', task)
return {'OK'}
