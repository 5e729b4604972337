-- May a comment be emailed to the owner now? Otherwise, add it to the next digest.
--
-- KEYS    gathered  zset    {site}:gathered  comments for the next digest, by arrival, ms
--         mailed    string  {site}:mailed    until when the owner gets no further email, ms
-- ARGV    id        text    the comment
--         now       int     ms since the epoch
--         every     int     ms between two emails
--         most      int     comments per digest; further ones are dropped
--         waits     flag    add it to a digest in any case, due within `every`
-- RETURNS NOW               and no further one within `every`
--         GATHERED
-- FLAGS   no-promise
-- COST    O(log n)

local is_free = tonumber(redis.call('GET', mailed) or 0) <= tonumber(now)
if is_free and redis.call('ZCARD', gathered) == 0 then
  redis.call('SET', mailed, string.format('%.0f', now + every))
  if waits == '0' then
    return {'NOW'}
  end
end
if redis.call('ZCARD', gathered) < tonumber(most) then
  redis.call('ZADD', gathered, 'NX', now, id)
end
return {'GATHERED'}
