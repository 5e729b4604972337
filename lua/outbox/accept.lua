-- Take events of a page into the site's outbox, each only once.
--
-- KEYS    outbox     stream  {site}:outbox    tasks to be done
--         accepted   zset    {site}:accepted  events that were taken lately, by time, ms
-- ARGV    now        int     ms since the epoch
--         before     int     ms since the epoch: what was taken earlier is forgotten
--         events...  text    name and task, in turn
-- RETURNS OK taken           how many were new
-- FLAGS   no-promise
-- COST    O(events * log n)

local outbox, accepted = KEYS[1], KEYS[2]
local now, before, events = ARGV[1], ARGV[2], ARGV

-- The index of the first event, and how many more names than came are forgotten.
local FIRST, MORE = 3, 10
local taken = 0

for i = FIRST, #events, 2 do
  if redis.call('ZADD', accepted, 'NX', now, events[i]) == 1 then
    redis.call('XADD', outbox, '*', 'task', events[i + 1])
    taken = taken + 1
  end
end
local old = redis.call('ZRANGE', accepted, '-inf', '(' .. before, 'BYSCORE', 'LIMIT', 0, taken + MORE)
if #old > 0 then
  redis.call('ZREM', accepted, unpack(old))
end
return {'OK', taken}
