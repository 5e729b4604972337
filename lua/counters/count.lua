-- Change many counters in one step, and note when pages were viewed.
--
-- KEYS    site        hash  {c}:hours  hour -> views of all pages of the group
--         counts...   hash  of each change in turn: {c}:counts or {c}:long, "<counter> <path>" -> count;
--                           {c}:numbers, kind of such a hash -> how many counters the group has in those;
--                           {c}:hours:<page>, hour -> views; and {c}:days:<page>:<month>, day -> views, with
--                           base, the count before that, and undated, what else was added to the count
-- ARGV    day         text  of the month; or `undated` for what nobody has viewed
--         hour        int   such as 2026112316
--         oldest      int   hour that is kept
--         hours_ms    int   for which hours are kept
--         days_ms     int   for which the month is kept
--         changes...  text  field and delta, in turn, one pair a change
-- RETURNS counts            the new values, in the order of the changes
-- INCLUDE kind_of change note_day
-- COST    O(changes), and O(hours) of each page that begins one

local site, counts = KEYS[1], KEYS
local day, hour, oldest, hours_ms, days_ms, changes = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV

-- Keys before the first change, and arguments; how many keys a change has.
local KEYS_BEFORE, ARGV_BEFORE, WIDTH = 1, 5, 4
local MOST_HOURS = 200

-- pcall, because damaged statistics must not stop what counts; what it lets through is a hash.
local function note_hour(index, views)
  if redis.pcall('HINCRBY', index, hour, views) == views then
    -- One step reads a small hash whole.
    local words = redis.call('HSCAN', index, 0, 'COUNT', MOST_HOURS)[2]
    for i = 1, #words, 2 do
      -- What is no hour was damaged.
      if (tonumber(words[i]) or 0) < tonumber(oldest) then
        redis.call('HDEL', index, words[i])
      end
    end
    redis.call('PEXPIRE', index, hours_ms)
  end
end

local answers, total = {}, 0

for i = 1, (#counts - KEYS_BEFORE) / WIDTH do
  local at, from = KEYS_BEFORE + WIDTH * (i - 1) + 1, ARGV_BEFORE + 2 * i - 1
  local name = changes[from]
  local count, added = change(counts[at], counts[at + 1], name, changes[from + 1])
  answers[i] = count
  if added ~= 0 and string.sub(name, 1, 5) == 'time ' then
    if added > 0 and day ~= 'undated' then
      note_hour(counts[at + 2], added)
      note_day(counts[at + 3], day, count, added)
      total = total + added
    else
      note_day(counts[at + 3], 'undated', count, added)
    end
  end
end
if total > 0 then
  -- Its hours are removed when their sum is kept (lua/views/keep.lua).
  redis.pcall('HINCRBY', site, hour, total)
end
return answers
