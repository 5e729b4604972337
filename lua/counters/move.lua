-- Add all counters of a bucket to others; what is left of it turns away whoever looks there.
--
-- KEYS    old      hash  {c}:counts  "<counter> <path>" -> count
--         new...   hash  {c}:counts  where they go
-- ARGV    seconds  int   how long a string stays in the old one's place
--         places...  text  which of the new ones, from 1 on, and a field of the old one, in turn
-- RETURNS moved | gone | changed   it was moved before; it has other fields than these
-- COST    O(fields)

local old, new = KEYS[1], KEYS
local seconds, places = ARGV[1], ARGV
-- Values on Lua's stack at a time, which has some thousand places.
local AT_ONCE = 1000

local length = redis.pcall('HLEN', old)
if type(length) == 'table' then return 'gone' end
-- Counters are never removed: the same number of fields, all of which are there, are the same.
if 2 * length ~= #places - 1 then return 'changed' end

local fields, counts = {}, {}
for i = 2, #places, 2 do fields[#fields + 1] = places[i + 1] end
for first = 1, #fields, AT_ONCE do
  local last = math.min(first + AT_ONCE - 1, #fields)
  local found = redis.call('HMGET', old, unpack(fields, first, last))
  for i = 1, #found do
    if not found[i] then return 'changed' end
    counts[#counts + 1] = found[i]
  end
end

-- Asked of all before the first write: there is no rollback.
local is_empty = {}
for i = 2, #new do is_empty[i - 1] = redis.call('HLEN', new[i]) == 0 end

local going = {}
local function go(place)
  local words = going[place]
  if is_empty[place] then
    redis.call('HSET', new[place + 1], unpack(words))
  else
    -- A failover took an earlier move back, and services have counted on here since.
    for i = 1, #words, 2 do
      if type(redis.pcall('HINCRBY', new[place + 1], words[i], words[i + 1])) == 'table' then
        redis.call('HSET', new[place + 1], words[i], words[i + 1])
      end
    end
  end
  going[place] = {}
end
for i = 1, #fields do
  local place = tonumber(places[2 * i])
  local words = going[place] or {}
  going[place] = words
  words[#words + 1] = fields[i]
  words[#words + 1] = counts[i]
  if #words == AT_ONCE then go(place) end
end
for place, words in pairs(going) do
  if #words > 0 then go(place) end
end
redis.call('UNLINK', old)
redis.call('SET', old, 'moved', 'EX', seconds)
return 'moved'
