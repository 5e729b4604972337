-- Start the digest of gathered comments, if it is due.
--
-- KEYS    outbox    stream  {site}:outbox    queued tasks
--         gathered  zset    {site}:gathered  comments for the next digest, by arrival, ms
--         mailed    string  {site}:mailed    until when the owner gets no further email, ms
-- ARGV    now       int     ms since the epoch
--         every     int     ms between two emails
--         task      json    the task to queue
-- RETURNS BEGUN
--         IDLE              nothing was gathered, or it is not due
-- FLAGS   no-promise
-- COST    O(1)

if redis.call('ZCARD', gathered) == 0 then
  return {'IDLE'}
end
if tonumber(redis.call('GET', mailed) or 0) > tonumber(now) then
  return {'IDLE'}
end
redis.call('SET', mailed, string.format('%.0f', now + every))
redis.call('XADD', outbox, '*', 'task', task)
return {'BEGUN'}
