-- Find one page of roots with their replies, or one root with those behind a reply, as one viewer
-- may see it: so many replies, and so many bytes, as the caller takes. Bodies are not read here,
-- since Lua takes longer to hand them on than Redis does to find them.
--
-- KEYS    version      string  {p}:version
--         bodies       hash    {p}:bodies
--         longest      string  {p}:longest
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
--         root         text    this root alone; empty: a page of roots
--         after        text    its replies behind this one; empty: from the first
--         most         int     replies wanted, at most 1000
--         room         int     bytes of bodies wanted; half of them is for roots
-- RETURNS version count roots  then a list of ids, a root's replies after it, oldest first; a list
--                              of the roots' places in it, from 1; how many roots are pinned, all
--                              in front; two lists that go with the ids, empty if all are null:
--                              likes, null for none, and statuses, null for approved; the places
--                              of ids whose bodies there is no room for; and a list of how many
--                              further replies each root has, empty if none has any
-- FLAGS   no-writes
-- COST    O(log n + size + replies shown); with held roots in sight, O(held log n) more

local version, bodies, longest, ranked, pinned = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local likes, replies, held, heldroots = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local heldreplies, mine = KEYS[10], KEYS[11]
local first, size, order, sees = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]
local root, after, most, room = ARGV[5], ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])

-- An administrator's pages show the newest so many held roots in their place; the rest are in the
-- moderation queue. Of their own, other viewers see the newest so many.
local MOST_HELD, MOST_OWN = 1000, 100
-- Lua hands Redis at most some 8,000 arguments at once.
local CHUNK = 1000
-- So many replies are read in one piece, in the hope that they are all of roots on this page.
local NEIGHBOURS = 1000
local NONE = {}

local sub = string.sub

local own = {}
if sees == 'own' then
  for _, id in ipairs(redis.call('ZREVRANGE', mine, 0, MOST_OWN - 1)) do own[id] = true end
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

local roots, pinned_here, roots_total = {}, 0, 0
if root ~= '' then
  local is_pinned = redis.call('ZSCORE', pinned, root)
  local is_root = is_pinned or redis.call('ZSCORE', ranked, root)
    or redis.call('ZSCORE', heldroots, root)
  if is_root and is_seen(root) then
    roots, pinned_here, roots_total = {root}, is_pinned and 1 or 0, 1
  end
  most = math.min(most, size)
else
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
  for i = first + 1, math.min(first + size, #pins) do
    roots[#roots + 1] = pins[i].id
  end
  pinned_here = #roots
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
  roots_total = ranked_total + #pins + extras_total
end

-- What is asked of an index of replies, whose members are "<root>:<id>": ';' follows ':'.
local function of_root(command, index, id, ...)
  local low = after == '' and '[' .. id .. ':' or '(' .. id .. ':' .. after
  return redis.call(command, index, low, '(' .. id .. ';', ...)
end

-- The viewer's own held replies to a root, all of them: there are few.
local function own_replies(id)
  local found = {}
  for reply in pairs(own) do
    if reply > after and redis.call('ZSCORE', heldreplies, id .. ':' .. reply) then
      found[#found + 1] = reply
    end
  end
  return found
end

-- The first so many replies to a root, oldest first; with held ones in sight a few more may come.
local function first_replies(id, limit)
  local found = of_root('ZRANGEBYLEX', replies, id, 'LIMIT', 0, limit)
  for n = 1, #found do found[n] = sub(found[n], #id + 2) end
  if sees == 'own' then
    for _, reply in ipairs(own_replies(id)) do found[#found + 1] = reply end
    table.sort(found)
  elseif sees == 'all' then
    local others = of_root('ZRANGEBYLEX', heldreplies, id, 'LIMIT', 0, limit)
    for _, member in ipairs(others) do found[#found + 1] = sub(member, #id + 2) end
    table.sort(found)
  end
  return found
end

-- The places of these numbers, the least first.
local function ascending(numbers)
  local places = {}
  for i = 1, #numbers do places[i] = i end
  table.sort(places, function(a, b)
    if numbers[a] ~= numbers[b] then return numbers[a] < numbers[b] end
    return a < b
  end)
  return places
end

-- Of what each wants, as much as there is room for: who wants little gets it, the others as much
-- as each other. So whoever fills one root with replies takes no room from other roots.
local function shares(wanted, there)
  local given, places = {}, ascending(wanted)
  for n, i in ipairs(places) do
    given[i] = math.min(wanted[i], math.floor(there / (#places - n + 1)))
    there = there - given[i]
  end
  return given
end

-- In the order of time, roots that follow each other have their replies side by side.
local together
if sees == 'public' and order ~= 'like_desc' and #roots > pinned_here + 1 then
  local low, high = roots[pinned_here + 1], roots[#roots]
  if low > high then low, high = high, low end
  local found = redis.call(
    'ZRANGEBYLEX', replies, '[' .. low .. ':', '(' .. high .. ';', 'LIMIT', 0, NEIGHBOURS)
  if #found < NEIGHBOURS then
    together = {}
    local length, last, children, n = #low, nil, nil, 0
    for _, member in ipairs(found) do
      local id = sub(member, 1, length)
      if id ~= last then
        last, children, n = id, {}, 0
        together[id] = children
      end
      n = n + 1
      children[n] = sub(member, length + 2)
    end
  end
end

-- Each root's first replies, how many it has, and how many there is room for. Most roots have
-- fewer than `each`, and so need not be asked how many they have.
local children, wanted, sum = {}, {}, 0
local each = math.floor(most / math.max(#roots, 1))
for i, id in ipairs(roots) do
  local found, many
  if together and i > pinned_here then
    found = together[id] or NONE
    many = #found
  else
    found = first_replies(id, each + 1)
    many = #found
    if many > each then
      many = of_root('ZLEXCOUNT', replies, id)
      if sees == 'all' then
        many = many + of_root('ZLEXCOUNT', heldreplies, id)
      elseif sees == 'own' then
        many = many + #own_replies(id)
      end
    end
  end
  children[i], wanted[i], sum = found, many, sum + many
end
local limits = wanted
if sum > most then limits = shares(wanted, most) end
for i, id in ipairs(roots) do
  if limits[i] > each and not (together and i > pinned_here) then
    children[i] = first_replies(id, limits[i])
  end
end

-- The ids of roots and of so many replies of each, and the roots' places among them.
local function listed()
  local ids, starts, place = {}, {}, 0
  for i, id in ipairs(roots) do
    place = place + 1
    ids[place], starts[i] = id, place
    local found = children[i]
    for n = 1, limits[i] do ids[place + n] = found[n] end
    place = place + limits[i]
  end
  return ids, starts
end

local ids, starts = listed()

-- Of roots, the longest bodies are left out; of each root's replies, those behind its share. What
-- needs half of the room by itself is left out wherever it is, so that replies go on behind it.
-- The places of what is left out, in `ids` as it is then.
local function shorten(lengths)
  local half = math.floor(room / 2)
  local is_cut, sizes, sums, spent = {}, {}, {}, 0
  for i, start in ipairs(starts) do sizes[i] = lengths[start] end
  for _, i in ipairs(ascending(sizes)) do
    if spent + sizes[i] > half then is_cut[roots[i]] = true else spent = spent + sizes[i] end
  end
  for i, start in ipairs(starts) do
    sums[i] = 0
    for place = start + 1, start + limits[i] do
      if lengths[place] > half then
        is_cut[ids[place]] = true
        lengths[place] = 0
      end
      sums[i] = sums[i] + lengths[place]
    end
  end
  local shorter = shares(sums, room - spent)
  for i, share in ipairs(shorter) do
    local kept, used = 0, 0
    while kept < limits[i] and used + lengths[starts[i] + kept + 1] <= share do
      kept = kept + 1
      used = used + lengths[starts[i] + kept]
    end
    shorter[i] = kept
  end

  limits = shorter
  ids, starts = listed()
  local cut = {}
  for place, id in ipairs(ids) do
    if is_cut[id] then cut[#cut + 1] = place end
  end
  return cut
end

local cut = NONE
if tonumber(redis.call('GET', longest) or math.huge) * #ids > room then
  local lengths, bytes = {}, 0
  for place, id in ipairs(ids) do
    lengths[place] = redis.call('HSTRLEN', bodies, id)
    bytes = bytes + lengths[place]
  end
  if bytes > room then cut = shorten(lengths) end
end

local further = NONE
if limits ~= wanted then
  further = {}
  for i = 1, #roots do further[i] = wanted[i] - limits[i] end
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
  redis.call('GET', version) or '0', count, roots_total, ids, starts, pinned_here,
  values(likes), sees == 'public' and NONE or values(held), cut, further,
}
