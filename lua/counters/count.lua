-- Change many counters in one step, and note when pages were viewed, and by whom.
--
-- KEYS    site        hash  {c}:site, a share of the site: hour -> views, "b<day> <class>" -> views by bots
--         sources     hash  {c}:sources:<day>, a share of them: host -> views from there
--         counts...[7]  hash  of each change in turn: {c}:counts or {c}:long, "<counter> <path>" -> count;
--                           {c}:numbers, kind of such a hash -> number of its counters,
--                           and views -> a share of the sum of all view counters; {c}:hours:<page>, hour -> views,
--                           "<hour> <class>" -> those by bots;
--                           {c}:days:<page>:<month>, day -> views, v<day> -> visitors, with base, the count before
--                           that, and undated, what else was added to the count;
--                           {c}:bots:<page>:<month>, "<day> <class>" -> views;
--                           {c}:visitors:<page>:<day>, a set of numbers, or a sketch of them;
--                           {c}:read:<day>, a zset path -> views
-- ARGV    day         text  of the month; `undated` for changes that are not views
--         date        int   the same day such as 20261123
--         hour        int   such as 2026112316
--         oldest      int   hour to keep
--         hours_ms    int   ms to keep hours, and the lists of a day
--         days_ms     int   ms to keep the month
--         day_ms      int   ms to keep visitors' numbers
--         changes...[5]  text  of each change in turn: field, delta, the source host of its views or "", how
--                           many people there are and how many bots; people's numbers; bots' classes
-- RETURNS counts            the new values, in the order of the changes
-- INCLUDE kind_of change note_day sketch note_visitors
-- COST    O(changes), O(hours) of each page with a new hour, and O(visitors) once for a
--         page whose visitors become a sketch

local site, sources, counts = KEYS[1], KEYS[2], KEYS
local day, date, hour, oldest, hours_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local days_ms, day_ms, changes = ARGV[6], ARGV[7], ARGV

-- Keys and arguments: before the first change, and per change.
local KEYS_BEFORE, KEYS_EACH, ARGV_BEFORE, ARGV_EACH = 2, 7, 7, 5
-- Of 72 hours, with each class of bots in all of them, at the end of the hour after.
local MOST_HOURS = 1300
-- Visitors of a page and day counted exactly.
local MOST_VISITORS = 10000
-- When a group's list of a day has more pages than the first number, the second number stays.
local MOST_READ, KEPT_READ, MOST_PATH = 128, 64, 512
local MOST_SOURCES = 100

-- pcall, because damaged statistics must not stop what counts; what it lets through is a hash.
local function note_hour(index, views)
  local is_new = redis.pcall('HINCRBY', index, hour, views) == views
  if is_new then
    -- HSCAN reads a small hash in one step.
    local words = redis.call('HSCAN', index, 0, 'COUNT', MOST_HOURS)[2]
    for i = 1, #words, 2 do
      -- A field that does not start with an hour is damaged.
      if (tonumber(string.match(words[i], '^%d+')) or 0) < tonumber(oldest) then
        redis.call('HDEL', index, words[i])
      end
    end
    redis.call('PEXPIRE', index, hours_ms)
  end
  return is_new
end

-- The step of a number: four steps until it doubles.
local function steps(number)
  local part, doubled = math.frexp(number)
  return 4 * doubled + math.floor(8 * part)
end

-- A list is to find pages, whose own numbers are exact: to place a page at each of its views would cost more than
-- the view. It would take more memory than the counters if strangers could fill it with long paths.
local function note_read(index, path, known, views)
  if #path > MOST_PATH or steps(known) == steps(known - views) then
    return
  end
  -- Only a new page makes the list longer.
  if redis.pcall('ZADD', index, known, path) == 1 then
    redis.call('PEXPIRE', index, hours_ms)
    if redis.call('ZCARD', index) > MOST_READ then
      redis.call('ZREMRANGEBYRANK', index, 0, -KEPT_READ - 1)
    end
  end
end

-- The hosts with fewest views are dropped: visitors can invent any number of hosts.
local function drop_rarest()
  local words, least, dropped = redis.call('HSCAN', sources, 0, 'COUNT', MOST_SOURCES)[2], math.huge, 0
  for i = 1, #words, 2 do
    if words[i] ~= '' then
      least = math.min(least, tonumber(words[i + 1]) or 0)
    end
  end
  for i = 1, #words, 2 do
    if words[i] ~= '' and (tonumber(words[i + 1]) or 0) == least then
      redis.call('HDEL', sources, words[i])
      dropped = dropped + least
    end
  end
  redis.pcall('HINCRBY', sources, '', dropped)
end

local function note_source(host, views)
  local is_new = redis.pcall('HEXISTS', sources, host) == 0
  if is_new and redis.call('HLEN', sources) > MOST_SOURCES then
    drop_rarest()
  end
  if redis.pcall('HINCRBY', sources, host, views) == views then
    redis.call('PEXPIRE', sources, hours_ms)
  end
end

-- What was added to counters of views, in this hour, and by each class of bots in it.
local answers, ever, total, by_bots = {}, 0, 0, {}
-- The last argument that was read.
local last
last = ARGV_BEFORE

for i = 1, (#counts - KEYS_BEFORE) / KEYS_EACH do
  local at = KEYS_BEFORE + KEYS_EACH * (i - 1)
  local name, delta, source = changes[last + 1], changes[last + 2], changes[last + 3]
  local people, bots = tonumber(changes[last + 4]), tonumber(changes[last + 5])
  last = last + ARGV_EACH
  local count, added = change(counts[at + 1], counts[at + 2], name, delta)
  answers[i] = count
  if added ~= 0 and string.sub(name, 1, 5) == 'time ' then
    ever = ever + added
    if added > 0 and day ~= 'undated' then
      local is_new_hour = note_hour(counts[at + 3], added)
      local known = note_day(counts[at + 4], day, count, added)
      note_read(counts[at + 7], string.sub(name, 6), known, added)
      total = total + added
      if people > 0 then
        local numbers = {unpack(changes, last + 1, last + people)}
        note_visitors(counts[at + 6], counts[at + 4], 'v' .. day, MOST_VISITORS, numbers, is_new_hour)
      end
      for j = last + people + 1, last + people + bots do
        if redis.pcall('HINCRBY', counts[at + 5], day .. ' ' .. changes[j], 1) == 1 then
          redis.call('PEXPIRE', counts[at + 5], days_ms)
        end
        redis.pcall('HINCRBY', counts[at + 3], hour .. ' ' .. changes[j], 1)
        by_bots[changes[j]] = (by_bots[changes[j]] or 0) + 1
      end
      -- Bots have no source.
      if source ~= '' and added > bots then
        note_source(source, added - bots)
      end
    else
      note_day(counts[at + 4], 'undated', count, added)
    end
  end
  last = last + people + bots
end
if ever ~= 0 then
  redis.pcall('HINCRBY', counts[KEYS_BEFORE + 2], 'views', ever)
end
if total > 0 then
  -- Its hours are removed when their sum is kept (lua/views/keep.lua).
  redis.pcall('HINCRBY', site, hour, total)
end
for class, views in pairs(by_bots) do
  redis.pcall('HINCRBY', site, 'b' .. date .. ' ' .. class, views)
end
return answers
