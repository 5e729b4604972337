-- Find one page of roots with their replies, as one viewer may see it. Their bodies are not read
-- here, since Lua takes longer to hand them on than Redis does to find them.
--
-- KEYS    version      string  {p}:version
--         bodies       hash    {p}:bodies
--         ranked       zset    {p}:newest or {p}:liked, whichever the order asks for
--         pinned       zset    {p}:pinned
--         likes        hash    {p}:likes
--         replies      zset    {p}:replies
--         held         hash    {p}:held
--         heldroots    zset    {p}:heldroots
--         heldreplies  zset    {p}:heldreplies
--         mine         zset    {p}:mine:<account>
-- ARGV    first        int     roots to skip
--         size         int     roots wanted, at most 100
--         order        text    insertedAt_desc | insertedAt_asc | like_desc
--         sees         text    public | own | all: which held comments the viewer may see
-- RETURNS version count roots  then a list of ids, a root's replies after it, oldest first; a list
--                              of the roots' places in it, from 1; how many roots are pinned, all
--                              in front; and two more lists that go with the ids, empty if all are
--                              null: likes, null for none, and statuses, null for approved
-- FLAGS   no-writes
-- COST    O(log n + size + replies shown); with held roots in sight, O(held log n) more

local version, bodies, ranked, pinned, likes = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local replies, held, heldroots, heldreplies, mine = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local first, size, order, sees = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]

-- An administrator's pages show the newest so many held roots in their place; the rest are in the
-- moderation queue.
local MOST_HELD = 1000
-- Lua hands Redis at most some 8,000 arguments at once.
local CHUNK = 1000
-- So many replies are read in one piece, in the hope that they are all of roots on this page.
local NEIGHBOURS = 1000

local own = {}
if sees == 'own' then
  for _, id in ipairs(redis.call('ZRANGE', mine, 0, -1)) do own[id] = true end
end

local function is_seen(id)
  return sees == 'all' or own[id] or redis.call('HEXISTS', held, id) == 0
end

-- Who comes first, a or b? Ids sort by age.
local function is_before(a, b)
  if order == 'insertedAt_asc' then return a.id < b.id end
  if order == 'like_desc' and a.likes ~= b.likes then return a.likes > b.likes end
  return a.id > b.id
end

local function sorted(ids)
  local entries = {}
  for i, id in ipairs(ids) do
    entries[i] = {id = id, likes = tonumber(redis.call('HGET', likes, id) or 0)}
  end
  table.sort(entries, is_before)
  return entries
end

local range = order == 'insertedAt_asc' and 'ZRANGE' or 'ZREVRANGE'
local ranked_total = redis.call('ZCARD', ranked)

-- How many approved roots come before this one: a binary search by rank.
local function rank(entry)
  local low, high = 0, ranked_total
  while low < high do
    local middle = math.floor((low + high) / 2)
    local found = redis.call(range, ranked, middle, middle, 'WITHSCORES')
    if is_before({id = found[1], likes = tonumber(found[2])}, entry) then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

local pins = {}
for _, id in ipairs(redis.call('ZRANGE', pinned, 0, -1)) do
  if is_seen(id) then pins[#pins + 1] = id end
end
pins = sorted(pins)

local extras, extras_total = {}, 0
if sees == 'all' then
  extras = sorted(redis.call('ZREVRANGE', heldroots, 0, MOST_HELD - 1))
  extras_total = redis.call('ZCARD', heldroots)
elseif sees == 'own' then
  local ids = {}
  for id in pairs(own) do
    if redis.call('ZSCORE', heldroots, id) then ids[#ids + 1] = id end
  end
  extras = sorted(ids)
  extras_total = #extras
end

-- The wanted roots, in order: pins first, then approved and held ones merged.
local roots = {}
for i = first + 1, math.min(first + size, #pins) do
  roots[#roots + 1] = pins[i].id
end
local pinned_here = #roots
local from = math.max(first - #pins, 0)
local to = from + size - #roots
local at, passed = {}, 0
for i, entry in ipairs(extras) do
  local place = rank(entry) + i - 1
  if place < from then passed = passed + 1 end
  if place >= from and place < to then at[place] = entry.id end
end
local approved = {}
if to > from then
  approved = redis.call(range, ranked, from - passed, to - passed - 1)
end
local taken = 0
for place = from, to - 1 do
  local id = at[place]
  if not id then
    taken = taken + 1
    id = approved[taken]
  end
  if id then roots[#roots + 1] = id end
end

-- Members "<root>:<id>" of the roots between two, both included: ';' follows ':'.
local function members(index, low, high, ...)
  return redis.call('ZRANGEBYLEX', index, '[' .. low .. ':', '(' .. high .. ';', ...)
end

-- In the order of time, roots that follow each other have their replies side by side.
local together
if order ~= 'like_desc' and #roots > pinned_here + 1 then
  local low, high = roots[pinned_here + 1], roots[#roots]
  if low > high then low, high = high, low end
  local found = members(replies, low, high, 'LIMIT', 0, NEIGHBOURS)
  if #found < NEIGHBOURS then
    together = {}
    for _, member in ipairs(found) do
      local root = string.sub(member, 1, #low)
      local children = together[root]
      if not children then
        children = {}
        together[root] = children
      end
      children[#children + 1] = member
    end
  end
end

local NONE = {}
local ids, starts = {}, {}
for i, id in ipairs(roots) do
  ids[#ids + 1] = id
  starts[i] = #ids
  local children
  if together and i > pinned_here then
    children = together[id] or NONE
  else
    children = members(replies, id, id)
  end
  if sees ~= 'public' then
    local all = {}
    for n, member in ipairs(children) do all[n] = member end
    for _, member in ipairs(members(heldreplies, id, id)) do
      if sees == 'all' or own[string.sub(member, #id + 2)] then all[#all + 1] = member end
    end
    table.sort(all)
    children = all
  end
  for _, member in ipairs(children) do
    ids[#ids + 1] = string.sub(member, #id + 2)
  end
end

local count = redis.call('HLEN', bodies)
if sees ~= 'all' then
  count = count - redis.call('HLEN', held)
end
if sees == 'own' then
  count = count + redis.call('ZCARD', mine)
end

-- Values of one hash for all ids; nothing for an empty hash, as that of likes often is.
local function values(index)
  local all = {}
  if redis.call('HLEN', index) == 0 then return all end
  for start = 1, #ids, CHUNK do
    local stop = math.min(start + CHUNK - 1, #ids)
    for i, value in ipairs(redis.call('HMGET', index, unpack(ids, start, stop))) do
      all[start + i - 1] = value
    end
  end
  return all
end

return {
  redis.call('GET', version) or '0', count, ranked_total + #pins + extras_total,
  ids, starts, pinned_here, values(likes), sees == 'public' and {} or values(held),
}
