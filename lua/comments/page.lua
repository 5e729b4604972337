-- Read a page of roots with their replies, or a root with the replies after a given one, as a viewer
-- may see them; up to a number of replies and bytes of bodies.
--
-- KEYS    version      string  {p}:version
--         bodies       hash    {p}:bodies
--         longest      string  {p}:longest
--         ranked       zset    {p}:newest or {p}:liked, according to the order
--         pinned       zset    {p}:pinned
--         likes        hash    {p}:likes
--         replies      zset    {p}:replies
--         held         hash    {p}:held
--         heldranked   zset    {p}:heldroots or {p}:heldliked, likewise
--         heldreplies  zset    {p}:heldreplies
--         mine         zset    {p}:mine       held comments of accounts, <account>:<id>
--         hidden       hash    {p}:hidden     replies below deleted roots that are still indexed
--         deleted      zset    {p}:deleted
--         gone         zset    {p}:gone       replies deleted with a comment
-- ARGV    first        number  roots to skip
--         size         number  roots wanted, at most 100
--         order        text    insertedAt_desc | insertedAt_asc | like_desc
--         sees         text    public | own | all: which held comments the viewer may see
--         account      text    the viewer's, or empty
--         root         text    only this root; empty: a page of roots
--         after        text    only its replies after this one; empty: from the first
--         most         number  replies wanted, at most 1000
--         room         number  bytes of bodies wanted; half of them is for roots
-- RETURNS version count roots  then the number of pinned roots, which are first; the
--                              ids in a string, separated by blanks, each root followed by its
--                              replies, oldest first; a list of their bodies, empty for one that
--                              does not fit; for each root the number of its replies here; for
--                              each root the number left out, an empty list if none; and two
--                              lists in the order of the ids: likes, null for none, empty if
--                              none has likes; statuses, null for approved, empty for the public
-- FLAGS   no-writes
-- COST    O(log n + size + replies shown), and their bytes; if the viewer sees held roots,
--         O(log held * log n) more

-- Viewers see this many of their own unpublished comments, the newest; administrators see all.
local MOST_OWN = 100
-- Replies read in one range, usually all of the page's roots.
local NEIGHBOURS = 1000
local NONE = {}

local call, sub, floor, max, min = redis.call, string.sub, math.floor, math.max, math.min

local own, first_own, last_own = {}, '[' .. account .. ':', '(' .. account .. ';'
if sees == 'own' then
  local newest = call('ZRANGE', mine, last_own, first_own, 'BYLEX', 'REV', 'LIMIT', 0, MOST_OWN)
  for _, member in ipairs(newest) do own[sub(member, #account + 2)] = true end
end

local function is_seen(id)
  return sees == 'all' or own[id] or call('HEXISTS', held, id) == 0
end

local range = order == 'insertedAt_asc' and 'ZRANGE' or 'ZREVRANGE'

-- Does a come before b in this order? Ids decide between equal scores, as in an index.
local function is_before(a, b)
  if order == 'insertedAt_asc' then a, b = b, a end
  if a.score ~= b.score then return a.score > b.score end
  return a.id > b.id
end

-- The members of an index from one rank to another, with their scores.
local function entries(index, from, to)
  local words, found = call(range, index, from, to, 'WITHSCORES'), {}
  for i = 1, #words, 2 do
    found[#found + 1] = {id = words[i], score = tonumber(words[i + 1])}
  end
  return found
end

local roots, pinned_here, roots_total = {}, 0, 0
if root ~= '' then
  local is_pinned = call('ZSCORE', pinned, root)
  local is_root = is_pinned or call('ZSCORE', ranked, root) or call('ZSCORE', heldranked, root)
  if is_root and is_seen(root) then
    roots, pinned_here, roots_total = {root}, is_pinned and 1 or 0, 1
  end
  most = min(most, size)
else
  local pins = {}
  for _, entry in ipairs(entries(pinned, 0, -1)) do
    if is_seen(entry.id) then
      if order == 'like_desc' then entry.score = tonumber(call('HGET', likes, entry.id) or 0) end
      pins[#pins + 1] = entry
    end
  end
  table.sort(pins, is_before)

  local own_roots = {}
  for id in pairs(own) do
    local score = call('ZSCORE', heldranked, id)
    if score then own_roots[#own_roots + 1] = {id = id, score = tonumber(score)} end
  end
  table.sort(own_roots, is_before)

  local ranked_total = call('ZCARD', ranked)
  local held_total = sees == 'all' and call('ZCARD', heldranked) or #own_roots

  -- The unpublished roots that the viewer sees, by their rank.
  local function held_entries(from, to)
    if sees == 'all' then return entries(heldranked, from, to) end
    return {unpack(own_roots, from + 1, to + 1)}
  end

  -- How many of the first `place` roots are unpublished: a binary search by rank. A
  -- number is too small if the next held root comes before the last approved one.
  local function held_before(place)
    local low, high = max(place - ranked_total, 0), min(place, held_total)
    while low < high do
      local middle = floor((low + high) / 2)
      local next_held = held_entries(middle, middle)[1]
      local last_approved = entries(ranked, place - middle - 1, place - middle - 1)[1]
      if is_before(next_held, last_approved) then low = middle + 1 else high = middle end
    end
    return low
  end

  -- The page's roots, in order: pinned ones first, then approved and held ones merged.
  for i = first + 1, min(first + size, #pins) do
    roots[#roots + 1] = pins[i].id
  end
  pinned_here = #roots
  local from, left = max(first - #pins, 0), size - pinned_here
  if left > 0 and held_total == 0 then
    for _, id in ipairs(call(range, ranked, from, from + left - 1)) do roots[#roots + 1] = id end
  elseif left > 0 then
    local passed = held_before(from)
    local found = entries(ranked, from - passed, from - passed + left - 1)
    for _, entry in ipairs(held_entries(passed, passed + left - 1)) do
      found[#found + 1] = entry
    end
    table.sort(found, is_before)
    for i = 1, min(left, #found) do roots[#roots + 1] = found[i].id end
  end
  roots_total = #pins + ranked_total + held_total
end

-- Call a range command on a root's members of an index of replies. They are "<root>:<id>", and ';'
-- is the character after ':'.
local function of_root(command, index, id, ...)
  local low = after == '' and '[' .. id .. ':' or '(' .. id .. ':' .. after
  return call(command, index, low, '(' .. id .. ';', ...)
end

-- All unpublished replies of the viewer to a root: there are few.
local function own_replies(id)
  local found = {}
  for reply in pairs(own) do
    local member = id .. ':' .. reply
    if reply > after and call('ZSCORE', heldreplies, member) then found[#found + 1] = member end
  end
  return found
end

-- The first `limit` replies to a root, oldest first; a few more if the viewer sees held ones.
local function first_replies(id, limit)
  local found = of_root('ZRANGEBYLEX', replies, id, 'LIMIT', 0, limit)
  if sees == 'public' then return found end
  local others = sees == 'own' and own_replies(id)
    or of_root('ZRANGEBYLEX', heldreplies, id, 'LIMIT', 0, limit)
  for _, member in ipairs(others) do found[#found + 1] = member end
  table.sort(found)
  return found
end

-- The number of replies to a root.
local function count_replies(id)
  local many = of_root('ZLEXCOUNT', replies, id)
  if sees == 'all' then return many + of_root('ZLEXCOUNT', heldreplies, id) end
  return sees == 'own' and many + #own_replies(id) or many
end

-- The indexes of these numbers, sorted by number.
local function ascending(numbers)
  local places = {}
  for i = 1, #numbers do places[i] = i end
  table.sort(places, function(a, b)
    if numbers[a] ~= numbers[b] then return numbers[a] < numbers[b] end
    return a < b
  end)
  return places
end

-- Divide `there` fairly: small requests are granted, the others get equal shares. So a root with
-- many replies takes no space from other roots.
local function shares(wanted, there)
  local given, places = {}, ascending(wanted)
  for n, i in ipairs(places) do
    given[i] = min(wanted[i], floor(there / (#places - n + 1)))
    there = there - given[i]
  end
  return given
end

-- For each root: a list of members that has its replies, the number of members before them,
-- and the number of replies.
local lists, behind, wanted = {}, {}, {}

-- In the orders by time, the replies of neighbouring roots are one range of the index.
if sees == 'public' and order ~= 'like_desc' and #roots > pinned_here + 1 then
  local low, high = roots[pinned_here + 1], roots[#roots]
  if low > high then low, high = high, low end
  local found = call(
    'ZRANGEBYLEX', replies, '[' .. low .. ':', '(' .. high .. ';', 'LIMIT', 0, NEIGHBOURS)
  if #found < NEIGHBOURS then
    local length, begins, ends, last = #low, {}, {}, nil
    for place = 1, #found do
      local id = sub(found[place], 1, length)
      if id ~= last then begins[id], last = place - 1, id end
      ends[id] = place
    end
    for i = pinned_here + 1, #roots do
      local from = begins[roots[i]] or 0
      lists[i], behind[i], wanted[i] = found, from, (ends[roots[i]] or 0) - from
    end
  end
end

-- Most of the other roots have fewer than `each` replies, which then need not be counted.
local each, sum = floor(most / max(#roots, 1)), 0
for i, id in ipairs(roots) do
  if not lists[i] then
    local found = first_replies(id, each + 1)
    lists[i], wanted[i] = found, #found > each and count_replies(id) or #found
  end
  sum = sum + wanted[i]
end
local limits = sum > most and shares(wanted, most) or wanted
for i, id in ipairs(roots) do
  if limits[i] > each and not behind[i] then lists[i] = first_replies(id, limits[i]) end
end

-- The ids of the roots, each followed by as many replies as its limit.
local function listed()
  local ids, place = {}, 0
  for i = 1, #roots do
    local list, from, start = lists[i], behind[i] or 0, #roots[i] + 2
    place = place + 1
    ids[place] = roots[i]
    for n = from + 1, from + limits[i] do
      place = place + 1
      ids[place] = sub(list[n], start)
    end
  end
  return ids
end

local ids = listed()

-- Lower the limits, and return the ids whose bodies are left out; `lengths` are those of `ids`.
-- Of roots, the longest bodies are left out; of each root's replies, those after its share of the
-- room. A body that needs half of the room is always left out, so that later replies are shown.
local function shorten(lengths)
  local half = floor(room / 2)
  local is_cut, sizes, starts, sums, spent, place = {}, {}, {}, {}, 0, 1
  for i = 1, #roots do
    starts[i], sizes[i] = place, lengths[place]
    place = place + 1 + limits[i]
  end
  for _, i in ipairs(ascending(sizes)) do
    if spent + sizes[i] > half then is_cut[roots[i]] = true else spent = spent + sizes[i] end
  end
  for i, start in ipairs(starts) do
    sums[i] = 0
    for reply = start + 1, start + limits[i] do
      if lengths[reply] > half then
        is_cut[ids[reply]] = true
        lengths[reply] = 0
      end
      sums[i] = sums[i] + lengths[reply]
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
  return is_cut
end

-- Bodies that do not fit must not be read: their lengths are read first, unless all of them fit even
-- if each were as long as the page's longest.
local known, is_cut = call('MGET', version, longest), NONE
if tonumber(known[2] or math.huge) * #ids > room then
  local lengths, sum = {}, 0
  for place, id in ipairs(ids) do
    lengths[place] = call('HSTRLEN', bodies, id)
    sum = sum + lengths[place]
  end
  if sum > room then
    is_cut = shorten(lengths)
    ids = listed()
  end
end

-- The values of a hash for all ids; Lua can unpack some 8,000 at most.
local function values(index)
  return #ids > 0 and call('HMGET', index, unpack(ids)) or NONE
end

local texts = NONE
if is_cut == NONE then
  texts = values(bodies)
else
  texts = {}
  for place, id in ipairs(ids) do texts[place] = is_cut[id] and '' or call('HGET', bodies, id) end
end

local further = NONE
if limits ~= wanted then
  further = {}
  for i = 1, #roots do further[i] = wanted[i] - limits[i] end
end

local count, below = call('HLEN', bodies), call('HMGET', hidden, 'approved', 'held')
count = count - tonumber(below[1] or 0)
if sees == 'all' then
  count = count - tonumber(below[2] or 0) - call('ZCARD', deleted) - call('ZCARD', gone)
else
  count = count - call('HLEN', held)
end
if sees == 'own' then
  count = count + call('ZLEXCOUNT', mine, first_own, last_own)
end

return {
  known[1] or '0', count, roots_total, pinned_here, table.concat(ids, ' '), texts, limits, further,
  call('HLEN', likes) > 0 and values(likes) or NONE, sees == 'public' and NONE or values(held),
}
