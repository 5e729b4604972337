-- Read some of a page's comments whole: the next ones of a walk over all, and those that are named.
-- A comment is in one piece; a walk of several calls meets whatever was there all along, some twice.
--
-- KEYS    version      string  {p}:version
--         path         string  {p}:path
--         bodies       hash    {p}:bodies
--         private      hash    {p}:private
--         likes        hash    {p}:likes
--         held         hash    {p}:held
--         pinned       zset    {p}:pinned
--         fingerprints hash    {p}:fingerprints
-- ARGV    cursor       text    where the walk over the comments goes on, 0 at first; empty: it is over
--         echo         text    the same for fingerprints, which come after the comments
--         count        int     about how many to meet at most
--         bytes        int     or as many as take so much, and the last few whole
--         ids...       text    more comments to read
-- RETURNS version path server cursor echo comments fingerprints
--                          the walks go on at cursor and echo, but on no other server than this, by
--                          its name for this run; a comment is id, body, private, likes, status,
--                          pinned (1 or 0); of fingerprints each is followed by its id
-- FLAGS   no-writes
-- COST    O(count), or all of a hash that is packed

local version, path, bodies, private, likes = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local held, pinned, fingerprints = KEYS[6], KEYS[7], KEYS[8]
local cursor, echo, count, bytes = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local ids = ARGV

local comments, met, size = {}, {}, 0

local function add(id, body)
  local secrets = redis.call('HGET', private, id) or ''
  size = size + #body + #secrets
  comments[#comments + 1] = {
    id, body, secrets, redis.call('HGET', likes, id) or '0',
    redis.call('HGET', held, id) or 'approved', redis.call('ZSCORE', pinned, id) and 1 or 0,
  }
end

-- The next step of a walk over a hash: where it goes on, and what it met.
local function walk(index, from, most)
  local found = redis.call('HSCAN', index, from, 'COUNT', most)
  return found[1] ~= '0' and found[1] or '', found[2]
end

while cursor ~= '' and #comments < count and size < bytes do
  local found
  cursor, found = walk(bodies, cursor, math.min(count, 8))
  for i = 1, #found, 2 do add(found[i], found[i + 1]) end
end
for i = 5, #ids do
  local body = redis.call('HGET', bodies, ids[i])
  if body then add(ids[i], body) end
end
-- After the last comment: whatever is met here belongs to one that was met before, or is new.
if cursor == '' and echo ~= '' then
  echo, met = walk(fingerprints, echo, count)
end

local server = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
return {
  redis.call('GET', version) or '0', redis.call('GET', path) or '', server, cursor, echo,
  comments, met,
}
