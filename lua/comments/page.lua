-- Read one page of roots with their replies, as one viewer may see it.
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
-- RETURNS version count roots  then five values a comment: id, root | pinned | reply, body, likes,
--                              status; a root is followed by its replies, oldest first
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
  roots[#roots + 1] = {pins[i].id, 'pinned'}
end
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
  if id then roots[#roots + 1] = {id, 'root'} end
end

local ids, places = {}, {}
local function show(id, place)
  ids[#ids + 1], places[#places + 1] = id, place
end
for _, root in ipairs(roots) do
  local id, place = root[1], root[2]
  show(id, place)
  -- ';' follows ':', so this is every member that begins with "<id>:".
  local children = redis.call('ZRANGEBYLEX', replies, '[' .. id .. ':', '(' .. id .. ';')
  if sees ~= 'public' then
    for _, member in ipairs(redis.call('ZRANGEBYLEX', heldreplies, '[' .. id .. ':', '(' .. id .. ';')) do
      if sees == 'all' or own[string.sub(member, #id + 2)] then children[#children + 1] = member end
    end
    table.sort(children)
  end
  for _, member in ipairs(children) do
    show(string.sub(member, #id + 2), 'reply')
  end
end

local count = redis.call('HLEN', bodies)
if sees ~= 'all' then
  count = count - redis.call('HLEN', held)
end
if sees == 'own' then
  count = count + redis.call('ZCARD', mine)
end

local answer = {redis.call('GET', version) or '0', count, ranked_total + #pins + extras_total}
for start = 1, #ids, CHUNK do
  local stop = math.min(start + CHUNK - 1, #ids)
  local body = redis.call('HMGET', bodies, unpack(ids, start, stop))
  local like = redis.call('HMGET', likes, unpack(ids, start, stop))
  local status = sees == 'public' and {} or redis.call('HMGET', held, unpack(ids, start, stop))
  for i = 1, stop - start + 1 do
    local n = #answer
    answer[n + 1], answer[n + 2] = ids[start + i - 1], places[start + i - 1]
    answer[n + 3], answer[n + 4] = body[i], like[i] or '0'
    answer[n + 5] = status[i] or 'approved'
  end
end
return answer
