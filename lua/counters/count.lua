-- Change many counters in one step, and note when pages were viewed, and by whom.
--
-- A page's views of an hour are what its counter grows by in it. So the first view of an hour opens it, and stores the
-- count before. Further ones change only the counter. When the next hour opens, what the last one had is added to its
-- day; readers do the same meanwhile (statistics/open_hour.py).
--
-- KEYS    site        hash  {c}:site, a share of the site: hour -> views, "b<day> <class>" -> views by bots
--         sources     hash  {c}:sources:<day>, a share of them: host -> views from there; "" -> those of others;
--                           " <host>" -> how many more it may have; " " -> how many those may have that are not there
--         referrals   hash  {c}:referrals:<day>, a share of them: "<source> <path>" -> views of the page from there;
--                           else as in sources
--         numbers     hash  {c}:numbers, kind of a hash of counters -> number of them, and
--                           views -> a share of the sum of all view counters; visitors -> a day such as
--                           20261123 and the bytes of the visitors of its pages
--         counts...   hash  {c}:counts or {c}:long, "<counter> <path>" -> count, of each view of an open hour; then for
--                           each other change that hash, and what it needs of these, in this order:
--                           {c}:numbers of the same group;
--                           {c}:days:<page>:<month>, day -> views, v<day> -> visitors, b<day> -> views by bots; base,
--                           the count before that; undated, what else was added to the count; open, the open hour and
--                           the count before it; "open <class>" -> views by bots in it;
--                           {c}:hours:<page>, hour -> views, "<hour> <class>" -> those by bots;
--                           {c}:bots:<page>:<month>, "<day> <class>" -> views;
--                           {c}:read:<day>, a zset path -> views;
--                           {c}:visitors:<page>:<day>, a set of numbers, or a sketch of them
-- ARGV    day         text  of the month
--         hour        int   such as 2026112316; 0 for none, as without statistics
--         latest      int   the next hour, which may be open already: some clocks are ahead
--         oldest      int   hour to keep
--         hours_ms    int   ms to keep hours
--         days_ms     int   ms to keep the month
--         day_ms      int   ms to keep visitors' numbers
--         plain       number views of an open hour that have nothing else to note
--         changes...  text  of each of these field and delta; of each other change also what it is, the source of its
--                           views, a host and maybe the path of its page, or "", how many people there are and how
--                           many bots, people's numbers, and bots' classes. It is
--                           seen: views of an open hour, which need days, and visitors if there are people;
--                           first: views of an hour that may not be open, which need everything, visitors likewise;
--                           undated: no views, of a counter of views: numbers and days;
--                           other: of another counter: numbers
-- RETURNS counts            the new values, in the order of the changes; nil for views of an open hour whose counter is
--                           not there, which are not counted
-- INCLUDE kind_of change opened note_undated sum_of sketch note_visitors
-- COST    O(changes), O(hours) of each page with a new hour, and O(visitors) once for a
--         page whose visitors become a sketch

-- Arguments of a change that is not plain.
local WORDS_EACH = 6
-- Of 72 hours, with each class of bots in all of them, at the end of the hour after.
local MOST_HOURS = 1300
-- The largest count, as in counting/names.py: a counter stops there.
local MOST_COUNT = 9007199254740991
-- Visitors of a page and day counted exactly.
local MOST_VISITORS = 512
-- The lists of a day stay until their sum is stored, and for nine days if no service runs (statistics/keeper.py).
local LISTS_MS = 9 * 86400000
-- When a group's list of a day has more pages than the first number, the second number stays.
local MOST_READ, KEPT_READ, MOST_PATH = 128, 64, 512
-- Fields of a share of a day's sources, or referrals: their names, and how many more views they may have.
local MOST_SOURCES = 200
-- Bytes of a source and a page together.
local MOST_REFERRAL = 300

-- Raise a counter that is there.
local function grow(index, name, delta)
  local count, step = redis.pcall('HINCRBY', index, name, delta), tonumber(delta)
  if type(count) ~= 'number' then
    return count, 0
  elseif count > MOST_COUNT then
    redis.call('HINCRBY', index, name, -step)
    return count - step, 0
  elseif count == step then
    redis.call('HDEL', index, name)
    return false, 0
  elseif count < step then
    -- It was below zero, which only damage causes.
    redis.call('HINCRBY', index, name, -step)
    return false, 0
  end
  return count, step
end

-- Views, and what else was added to counters of views.
local answers, total, undated = {}, 0, 0

for i = 1, plain do
  local at, added = ARGV_BEFORE + 2 * i, nil
  answers[i], added = grow(counts[KEYS_BEFORE + i], changes[at - 1], changes[at])
  total = total + added
end

local function note_total()
  if total + undated ~= 0 then
    redis.pcall('HINCRBY', numbers, 'views', total + undated)
  end
  if total > 0 then
    -- Its hours are removed when their sum is kept (lua/views/keep.lua).
    redis.pcall('HINCRBY', site, hour, total)
  end
end

-- Most calls end here, before the functions are made that only the others need.
if #changes == ARGV_BEFORE + 2 * plain then
  note_total()
  return answers
end

-- INSERT INCLUDES

-- pcall here and below, because damaged statistics must not stop what counts; what it lets through is a hash.
local function remove_old(hours)
  -- HSCAN reads a small hash in one step.
  local words = redis.call('HSCAN', hours, 0, 'COUNT', MOST_HOURS)[2]
  for i = 1, #words, 2 do
    -- A field that does not start with an hour is damaged.
    if (tonumber(string.match(words[i], '^%d+')) or 0) < tonumber(oldest) then
      redis.call('HDEL', hours, words[i])
    end
  end
  redis.call('PEXPIRE', hours, hours_ms)
end

-- Add the views of an hour that is over to its day, and to the page's hours.
local function close(days, hours, bots, over, views)
  local date, keeps = tostring(tonumber(string.sub(over, -4, -3))), over >= oldest
  if views > 0 then
    redis.pcall('HINCRBY', days, date, views)
    if keeps and type(redis.pcall('HINCRBY', hours, over, views)) == 'number' then
      remove_old(hours)
    end
  end
  local words, by_bots = redis.call('HSCAN', days, 0, 'COUNT', MOST_HOURS)[2], 0
  for i = 1, #words, 2 do
    local class = string.match(words[i], '^open (.+)$')
    if class then
      local by_class = math.min(tonumber(words[i + 1]) or 0, views)
      if by_class > 0 then
        redis.pcall('HINCRBY', bots, date .. ' ' .. class, by_class)
        if keeps then
          redis.pcall('HINCRBY', hours, over .. ' ' .. class, by_class)
        end
        redis.call('PEXPIRE', bots, days_ms)
      end
      views, by_bots = views - by_class, by_bots + by_class
      redis.call('HDEL', days, words[i])
    end
  end
  if by_bots > 0 then
    redis.pcall('HINCRBY', days, 'b' .. date, by_bots)
  end
end

-- Open this hour, unless another clock has opened the next one; or none.
local function open(days, hours, bots, before)
  local last, count = opened(days)
  if last and hour <= last and last <= latest then
    return
  end
  local is_new = redis.pcall('HSETNX', days, 'base', before)
  if is_new == 1 then
    redis.call('PEXPIRE', days, days_ms)
  elseif is_new == 0 then
    if last then
      close(days, hours, bots, last, before - count)
    end
    -- Views were counted without statistics, or taken back.
    local missing = before - sum_of(days)
    if missing ~= 0 then
      redis.pcall('HINCRBY', days, 'undated', missing)
    end
  end
  if hour == '0' then
    redis.pcall('HDEL', days, 'open')
  else
    redis.pcall('HSET', days, 'open', string.format('%s %.0f', hour, before))
  end
end

-- The views of this day by people.
local function people_of(days, count)
  local scanned = redis.pcall('HSCAN', days, 0, 'COUNT', MOST_HOURS)
  local words, people = scanned[2] or {}, 0
  for i = 1, #words, 2 do
    local field, number = words[i], tonumber(words[i + 1]) or 0
    local before = field == 'open' and string.match(words[i + 1], ' (-?%d+)$')
    if before or field == day then
      people = people + (before and count - before or number)
    elseif field == 'b' .. day or string.sub(field, 1, 5) == 'open ' then
      people = people - number
    end
  end
  return people
end

-- A list is to find pages that people read, and behind them those of bots, which may count as people. A page's own
-- numbers are exact: to place it at each of its views would cost more than the view. A list would take more memory than
-- the counters if strangers could fill it with long paths.
local function note_read(index, path, people)
  -- Only a new page makes the list longer.
  if #path <= MOST_PATH and redis.pcall('ZADD', index, people, path) == 1 then
    redis.call('PEXPIRE', index, LISTS_MS)
    if redis.call('ZCARD', index) > MOST_READ then
      redis.call('ZREMRANGEBYRANK', index, 0, -KEPT_READ - 1)
    end
  end
end

-- Visitors can invent any number of sources. So those drop out that have fewest views, with those they may have had
-- before they came in; and who comes in may have had as many (statistics/source_views.py).
local function drop_rarest(index, newest)
  local words, views, more = redis.call('HSCAN', index, 0, 'COUNT', MOST_SOURCES)[2], {}, {}
  for i = 1, #words, 2 do
    local name, number = words[i], tonumber(words[i + 1]) or 0
    if string.sub(name, 1, 1) == ' ' then
      more[string.sub(name, 2)] = number
    elseif name ~= '' and name ~= newest then
      views[name] = number
    end
  end
  local least, dropped = math.huge, 0
  for name, number in pairs(views) do
    least = math.min(least, number + (more[name] or 0))
  end
  for name, number in pairs(views) do
    if number + (more[name] or 0) == least then
      redis.call('HDEL', index, name, ' ' .. name)
      dropped = dropped + number
    end
  end
  redis.pcall('HINCRBY', index, '', dropped)
  redis.pcall('HSET', index, ' ', least)
end

local function note_source(index, name, views)
  if redis.pcall('HINCRBY', index, name, views) ~= views then
    return
  end
  -- It is new.
  redis.call('PEXPIRE', index, LISTS_MS)
  if redis.call('HLEN', index) > MOST_SOURCES then
    drop_rarest(index, name)
  end
  local before = redis.call('HGET', index, ' ')
  if before then
    redis.call('HSET', index, ' ' .. name, before)
  end
end

-- What is too long is one of the others, whose name is empty.
local function referral_of(source, host, path)
  local name = source .. ' ' .. path
  if #name > MOST_REFERRAL then
    name = host .. ' ' .. path
  end
  return #name > MOST_REFERRAL and '' or name
end

-- Views by each class of bots, from each host and of each page from there; and the bytes that new visitors of pages
-- take.
local by_bots, by_sources, by_referrals, taken = {}, {}, {}, 0

-- The last key, and the last argument, that were read.
local last_key, last
last_key, last = KEYS_BEFORE + plain, ARGV_BEFORE + 2 * plain

local function next_key()
  last_key = last_key + 1
  return counts[last_key]
end

while last < #changes do
  local name, delta, what, source = changes[last + 1], changes[last + 2], changes[last + 3], changes[last + 4]
  local people, bots = tonumber(changes[last + 5]), tonumber(changes[last + 6])
  last = last + WORDS_EACH
  local counter, count, added, days, read = next_key(), nil, nil, nil, nil
  if what == 'seen' then
    count, added = grow(counter, name, delta)
  else
    count, added = change(counter, next_key(), name, delta)
  end
  if what ~= 'other' then
    days = next_key()
  end
  if what == 'undated' and added ~= 0 then
    note_undated(days, count, added)
    undated = undated + added
  elseif what == 'first' then
    local hours, bots_of_page = next_key(), next_key()
    read = next_key()
    if type(count) == 'number' and count > 0 then
      open(days, hours, bots_of_page, count - added)
    end
  end
  local visitors = people > 0 and next_key()
  if added > 0 and (what == 'seen' or what == 'first') then
    total = total + added
    if visitors then
      local numbers = {unpack(changes, last + 1, last + people)}
      taken = taken + note_visitors(visitors, days, 'v' .. day, MOST_VISITORS, numbers, what == 'first')
    end
    for i = last + people + 1, last + people + bots do
      local class = changes[i]
      redis.pcall('HINCRBY', days, 'open ' .. class, 1)
      by_bots[class] = (by_bots[class] or 0) + 1
    end
    if read then
      note_read(read, string.sub(name, 6), people_of(days, count))
    end
    -- Bots have no source.
    if source ~= '' and added > bots then
      local host, views = string.match(source, '^[^/]+') or source, added - bots
      local referral = referral_of(source, host, string.sub(name, 6))
      by_sources[host] = (by_sources[host] or 0) + views
      by_referrals[referral] = (by_referrals[referral] or 0) + views
    end
  end
  last = last + people + bots
  answers[#answers + 1] = count
end

note_total()
if taken > 0 then
  -- Those of the days before are gone.
  local known = redis.pcall('HGET', numbers, 'visitors')
  local today = string.sub(hour, 1, -3)
  local noted, before = string.match(type(known) == 'string' and known or '', '^(%d+) (%d+)$')
  if not noted or noted < today then
    noted, before = today, 0
  end
  redis.pcall('HSET', numbers, 'visitors', string.format('%s %.0f', noted, before + taken))
end
for class, views in pairs(by_bots) do
  redis.pcall('HINCRBY', site, 'b' .. string.sub(hour, 1, -3) .. ' ' .. class, views)
end
for host, views in pairs(by_sources) do
  note_source(sources, host, views)
end
for referral, views in pairs(by_referrals) do
  note_source(referrals, referral, views)
end
return answers
