-- Give a page the counters and statistics of another page; each move once.
--
-- KEYS    given      hash    {c}:given  moves that have arrived in this group: "<page> <move>" -> 1
--         numbers    hash    {c}:numbers  kind of hash -> number of its counters, and
--                            views -> a share of the sum of all view counters
--         counter    hash    {c}:counts or {c}:long, which has the page's counter of views
--         hours      hash    {c}:hours:<page>, hour -> views
--         spare      string  {c}:spare  a temporary sketch of visitors
--         places...  hash    of each counter in turn its {c}:counts or {c}:long; of each month in turn, oldest first,
--                            {c}:days:<page>:<month> and {c}:bots:<page>:<month>, as in count.lua;
--                            of each day in turn {c}:visitors:<page>:<day>
-- ARGV    page       text    digest of the source page
--         id         text    of the move
--         given_ms   int     ms to remember that
--         name       text    of the page's counter of views
--         counters   number  counters
--         months     number  months
--         current    number  place of this month among them, or 0 without statistics
--         hour       int     such as 2026112316
--         day_ms     int     ms to keep visitors' numbers
--         words...   text    of each counter in turn its name and count; of each month in turn what the other
--                            page's count was before it, for how many ms the month is kept, how many fields of days
--                            there are, each with its number, and how many of bots, likewise; for how many ms hours
--                            are kept, how many there are, each with its views; of each day in turn the place of its
--                            month, its field there, how many visitors' numbers there are, and these; or -1 and a
--                            sketch
-- RETURNS OK                 they have arrived
-- INCLUDE kind_of change opened shift sum_of sketch note_visitors
-- COST    O(words)

-- Visitors of a page and day counted exactly.
local MOST_VISITORS = 512
-- Arguments per call of Redis.
local STEP = 1000

local arrival = page .. ' ' .. id
if redis.call('HEXISTS', given, arrival) == 1 then
  return {'OK'}
end
-- First, since a script that fails in between would be called again.
redis.call('HSET', given, arrival, 1)
redis.call('PEXPIRE', given, given_ms)

-- The number of words and places read.
local read, met = 0, 0

local function next_word()
  read = read + 1
  return words[ARGV_BEFORE + read]
end

local function next_place()
  met = met + 1
  return places[KEYS_BEFORE + met]
end

-- pcall here and below, because a damaged key must not stop the others.
local function number_in(index, field)
  local found = redis.pcall('HGET', index, field)
  return type(found) == 'string' and tonumber(found) or nil
end

local function add_each(index)
  for _ = 1, tonumber(next_word()) do
    local field = next_word()
    redis.pcall('HINCRBY', index, field, next_word())
  end
end

local function keep(index, kept_ms)
  if redis.call('PTTL', index) == -1 then
    redis.call('PEXPIRE', index, kept_ms)
  end
end

local count, month_places = number_in(counter, name) or 0, {}
for i = 1, months do
  month_places[i] = places[KEYS_BEFORE + counters + 2 * i - 1]
end

-- The count at the end of a month. An open hour ends when the next month starts.
local function end_of(index, at)
  if not opened(index) then
    return sum_of(index)
  end
  for i = at + 1, months do
    local next = number_in(month_places[i], 'base')
    if next then
      return next
    end
  end
  return count
end

-- What this page's count was before each month; before its first one, as in that.
local begun = {}
local before = nil
for i = 1, months do
  local base = number_in(month_places[i], 'base')
  begun[i] = base or before
  if base then
    before = end_of(month_places[i], i)
    for j = i - 1, 1, -1 do
      if begun[j] then
        break
      end
      begun[j] = base
    end
  end
end

local views = 0
for _ = 1, counters do
  local counts, field = next_place(), next_word()
  local _, added = change(counts, numbers, field, next_word())
  if field == name then
    views = views + added
  end
end
if views ~= 0 then
  redis.pcall('HINCRBY', numbers, 'views', string.format('%.0f', views))
end

-- What the end of each month has risen by.
local risen = {}
for i = 1, months do
  local days, bots = next_place(), next_place()
  local known, theirs, kept_ms = number_in(days, 'base'), tonumber(next_word()), next_word()
  if known or kept_ms ~= '0' then
    local base = (known or begun[i] or count) + theirs
    redis.pcall('HSET', days, 'base', string.format('%.0f', base))
    risen[i - 1] = theirs
  end
  add_each(days)
  add_each(bots)
  if kept_ms ~= '0' then
    keep(days, kept_ms)
    keep(bots, kept_ms)
  end
end
risen[months] = views
for i = months, 1, -1 do
  risen[i] = risen[i] or risen[i + 1]
  shift(month_places[i], risen[i])
end
-- A process may know that the hour is open, of a page that was moved or removed since.
local days = month_places[current]
if days and redis.pcall('HEXISTS', days, 'base') == 1 and not opened(days) then
  redis.pcall('HSET', days, 'open', string.format('%s %.0f', hour, count + views))
end

local hours_ms = next_word()
add_each(hours)
keep(hours, hours_ms)

-- A sketch there makes it a sketch here.
local function join_sketch(index, total, field)
  sketch(index)
  redis.call('SET', spare, next_word())
  local joined = redis.pcall('PFMERGE', index, spare)
  redis.call('DEL', spare)
  if type(joined) == 'table' and joined.ok then
    local told = number_in(total, field) or 0
    redis.pcall('HSET', total, field, math.max(redis.call('PFCOUNT', index), MOST_VISITORS + 1, told))
    redis.call('PEXPIRE', index, day_ms)
  end
end

while ARGV_BEFORE + read < #words do
  local index, total, field = next_place(), month_places[tonumber(next_word())], next_word()
  local number = tonumber(next_word())
  if number < 0 then
    join_sketch(index, total, field)
  end
  local passed = ARGV_BEFORE + read
  for i = 1, number, STEP do
    local last = math.min(i + STEP - 1, number)
    note_visitors(index, total, field, MOST_VISITORS, {unpack(words, passed + i, passed + last)}, true)
  end
  read = read + math.max(number, 0)
end

return {'OK'}
