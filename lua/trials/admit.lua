-- Begin a trial, unless `most` have begun within the window.
--
-- KEYS    trials   zset  {site}:trials  trial -> when it began, ms
-- ARGV    id       text
--         now      int   ms since the epoch
--         window   int   ms that a trial lasts
--         most     int   trials that may begin within that time
-- RETURNS OK left        it has begun, now or before: ms until its end
--         TOO_MANY wait  ms until another one may begin
-- FLAGS   no-promise
-- COST    O(trials), which are few

local trials = KEYS[1]
local id, now, window, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

local began = tonumber(redis.call('ZSCORE', trials, id))
if began and began + window > now then
  return {'OK', began + window - now}
end
local known, oldest, fresh = redis.call('ZRANGE', trials, 0, -1, 'WITHSCORES'), now, 0
for i = 1, #known, 2 do
  local score = tonumber(known[i + 1])
  if score + window <= now then
    redis.call('ZREM', trials, known[i])
  else
    fresh = fresh + 1
    oldest = math.min(oldest, score)
  end
end
if fresh >= most then
  return {'TOO_MANY', oldest + window - now}
end
redis.call('ZADD', trials, now, id)
redis.call('EXPIRE', trials, math.ceil(window / 1000))
return {'OK', window}
