-- Merge imported counts into counters; each batch of a sum is added once.
--
-- KEYS    done       string  {c}:imported:<import>  number of batches of this sum added here
--         numbers    hash    {c}:numbers  kind of hash -> number of its counters, and
--                            views -> a share of the sum of all view counters
--         counts...  hash    {c}:counts or {c}:long  "<counter> <path>" -> count;
--                            after those {c}:days:<page>:<month>, the page's views, as in count.lua
-- ARGV    way        text    max | sum | replace
--         number     int     of the batch in its group, from 1
--         kept       int     seconds to keep `done`
--         hour       int     such as 2026112316, or 0
--         days_ms    int     ms to keep the month
--         merged...[4] text    of each counter in turn: its place in counts, its name, its count, and the
--                            place of its page's views in counts, or 0
-- RETURNS OK changed  number of changed counters
--         DONE        this batch was added before
--         GAP         an earlier batch was not added
-- INCLUDE kind_of opened note_undated
-- COST    O(counters)

-- Keys before the first hash, and arguments before the first counter.
-- As in counting/names.py.
local MOST = 9007199254740991

if way == 'sum' then
  local added = tonumber(redis.call('GET', done) or 0)
  if added >= tonumber(number) then
    return {'DONE'}
  elseif added < tonumber(number) - 1 then
    return {'GAP'}
  end
end
local changed, views = 0, 0
for i = ARGV_BEFORE + 1, #merged, ARGV_EACH do
  local at, name, count = KEYS_BEFORE + merged[i], merged[i + 1], tonumber(merged[i + 2])
  local before = tonumber(redis.call('HGET', counts[at], name) or 0)
  local after = count
  if way == 'max' then
    after = math.max(before, count)
  elseif way == 'sum' then
    after = math.min(before + count, MOST)
  end
  if after ~= before then
    -- A count of zero is not stored.
    if after == 0 then
      redis.call('HDEL', counts[at], name)
      redis.pcall('HINCRBY', numbers, kind_of(counts[at]), -1)
    else
      local more = redis.call('HSET', counts[at], name, string.format('%.0f', after))
      if more > 0 then
        redis.pcall('HINCRBY', numbers, kind_of(counts[at]), more)
      end
    end
    if string.sub(name, 1, 5) == 'time ' then
      views = views + after - before
    end
    if merged[i + 3] ~= '0' then
      note_undated(counts[KEYS_BEFORE + merged[i + 3]], after, after - before)
    end
    changed = changed + 1
  end
end
if views ~= 0 then
  redis.pcall('HINCRBY', numbers, 'views', string.format('%.0f', views))
end
if way == 'sum' then
  redis.call('SET', done, number, 'EX', kept)
end
return {'OK', changed}
