-- Take all counters and statistics of a page, to give them to another page. They stay here until
-- they have arrived there.
--
-- KEYS    moving     hash  {c}:moving:<page>  "id", of the move; "to", its path; and "<counter> <path>" -> count
--         numbers    hash  {c}:numbers  kind of hash -> number of its counters, and
--                          views -> a share of the sum of all view counters
--         places...  hash  of each counter in turn its {c}:counts or {c}:long; then of each key with views of
--                          the page in turn, as in count.lua: the key, and its place here
-- ARGV    id         text  of this move
--         to         text  the target path
--         arrived    text  id of a move that has arrived, to forget; or empty
--         counters   number  counters; 0: take nothing
--         names...   text  of each counter in turn: "<counter> <path>"
-- RETURNS TAKEN id to      this move, or one that must arrive first
--         NONE             nothing to take
-- INCLUDE kind_of
-- COST    O(names + places), and O(views) to forget them

-- After two keys and the counters.
local first_views = KEYS_BEFORE + counters + 1

local pending = redis.call('HGET', moving, 'id')
if pending and pending ~= arrived then
  return {'TAKEN', pending, redis.call('HGET', moving, 'to')}
elseif pending then
  redis.call('DEL', moving)
  for i = first_views, #places, 2 do
    redis.call('DEL', places[i + 1])
  end
end
if counters == 0 then
  return {'NONE'}
end

local taken = 0

local function take(index, name)
  -- pcall, because damaged keys stay, for `footfall check`.
  local count = redis.pcall('HGET', index, name)
  if type(count) == 'string' and string.match(count, '^%d+$') then
    redis.call('HSET', moving, name, count)
    redis.call('HDEL', index, name)
    redis.pcall('HINCRBY', numbers, kind_of(index), -1)
    if string.sub(name, 1, 5) == 'time ' then
      redis.pcall('HINCRBY', numbers, 'views', '-' .. count)
    end
    taken = taken + 1
  end
end

for i = 1, counters do
  take(places[KEYS_BEFORE + i], names[ARGV_BEFORE + i])
end
for i = first_views, #places, 2 do
  -- pcall, since there may be no such key.
  local renamed = redis.pcall('RENAME', places[i], places[i + 1])
  if renamed.ok then
    taken = taken + 1
  end
end
if taken == 0 then
  return {'NONE'}
end
redis.call('HSET', moving, 'id', id, 'to', to)
return {'TAKEN', id, to}
