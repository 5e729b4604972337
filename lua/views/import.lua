-- Add past views to the days of pages, each step of a day once.
--
-- KEYS    files       hash  {c}:files:<month>  step -> 1 if it was added to the pages of this group
--         numbers     hash  {c}:numbers  kind of hash -> number of its counters, and views ->
--                           a share of the sum of all view counters
--         pages...[5] hash  of each change in turn: {c}:days:<page>:<month>, as count.lua keeps it; those of the last
--                           month and of this one; {c}:bots:<page>:<month>, "<day> <class>" -> views; and {c}:counts
--                           or {c}:long, which has the page's counter
-- ARGV    step        text  the digest of the day's views, and the step's number
--         kept_ms     int   ms to remember that
--         counts      flag  add these views to the counters; otherwise, they include them already
--         changes...  text  of each change in turn: the counter's name, day of the month, views, visitors, for how
--                           many ms the month is kept, how many classes of bots there are; and each class and its
--                           views
-- RETURNS OK                added
--         DONE              added before
-- INCLUDE kind_of change opened shift
-- COST    O(changes)

-- pcall here and below, because a damaged page must not stop the others.
local function number_in(index, field)
  local found = redis.pcall('HGET', index, field)
  return type(found) == 'string' and tonumber(found) or nil
end

-- The count with which the next month starts, if it has started.
local function next_base(days, last, current)
  local base = nil
  if days ~= last and days ~= current then
    base = number_in(last, 'base')
  end
  if not base and days ~= current then
    base = number_in(current, 'base')
  end
  return base
end

local function raise_base(index, views)
  if number_in(index, 'base') then
    redis.pcall('HINCRBY', index, 'base', views)
    shift(index, views)
  end
end

-- The counter includes these views already: the month started with fewer, or some have no day.
local function take_from_base(index, views)
  local moved = math.max(0, math.min(number_in(index, 'base') or 0, views))
  redis.pcall('HINCRBY', index, 'base', -moved)
  if views > moved then
    redis.pcall('HINCRBY', index, 'undated', moved - views)
  end
end

if redis.call('HSETNX', files, step, 1) == 0 then
  return {'DONE'}
end
redis.call('PEXPIRE', files, kept_ms)

-- The number of arguments read, at first those before the changes.
local read = 3
-- The sum added to counters.
local total = 0

for i = 1, (#pages - KEYS_BEFORE) / KEYS_EACH do
  local at = KEYS_BEFORE + KEYS_EACH * (i - 1)
  local days, last, current, bots, counter = pages[at + 1], pages[at + 2], pages[at + 3], pages[at + 4], pages[at + 5]
  local name, day, views = changes[read + 1], changes[read + 2], tonumber(changes[read + 3])
  local visitors, month_ms, classes = tonumber(changes[read + 4]), changes[read + 5], tonumber(changes[read + 6])
  read = read + 6
  local base = next_base(days, last, current) or number_in(counter, name) or 0
  if redis.pcall('HSETNX', days, 'base', string.format('%.0f', base)) == 1 then
    redis.pcall('PEXPIRE', days, month_ms)
  end
  redis.pcall('HINCRBY', days, day, views)
  if counts == '1' then
    local _, added = change(counter, numbers, name, views)
    total = total + added
    shift(days, views)
    if days ~= last and days ~= current then
      raise_base(last, views)
    end
    if days ~= current then
      raise_base(current, views)
    end
  else
    take_from_base(days, views)
  end
  if visitors > (number_in(days, 'v' .. day) or 0) then
    redis.pcall('HSET', days, 'v' .. day, visitors)
  end
  for j = read + 1, read + 2 * classes, 2 do
    redis.pcall('HINCRBY', bots, day .. ' ' .. changes[j], changes[j + 1])
  end
  if classes > 0 then
    redis.pcall('PEXPIRE', bots, month_ms)
  end
  read = read + 2 * classes
end
if total > 0 then
  redis.pcall('HINCRBY', numbers, 'views', total)
end
return {'OK'}
