-- Read some of a page's comments: the next ones of a walk over all, and those with these ids.
-- Each comment is consistent; a walk of several calls returns all that exist from its start to
-- its end, some of them twice.
--
-- KEYS    version      string  {p}:version
--         path         string  {p}:path
--         bodies       hash    {p}:bodies
--         private      hash    {p}:private
--         likes        hash    {p}:likes
--         held         hash    {p}:held
--         pinned       zset    {p}:pinned
--         fingerprints hash    {p}:fingerprints
--         deleted      zset    {p}:deleted
-- ARGV    cursor       text    HSCAN's cursor of the walk, 0 at first; empty: no walk
--         echo         text    the same for fingerprints, which are read after all comments
--         count        number  about how many comments to read
--         bytes        number  stop after this many bytes
--         ids...       text    further comments to read
-- RETURNS version path server cursor echo comments fingerprints heads
--                          cursor and echo for the next call, empty at the end; they are valid on
--                          this server only, by its run_id. A comment is id, body, private, likes,
--                          status, pinned (1 or 0); each fingerprint is followed by its id. The
--                          heads were deleted by themselves: replies below them are deleted, too,
--                          although some may not be marked yet
-- FLAGS   no-writes
-- COST    O(count + heads), or all of a packed hash

local comments, met, size = {}, {}, 0

local function add(id, body)
  local secrets = redis.call('HGET', private, id) or ''
  size = size + #body + #secrets
  comments[#comments + 1] = {
    id, body, secrets, redis.call('HGET', likes, id) or '0',
    redis.call('HGET', held, id) or 'approved', redis.call('ZSCORE', pinned, id) and 1 or 0,
  }
end

-- The next step of a walk over a hash: its next cursor, empty at the end, and its results.
local function walk(index, from, most)
  local found = redis.call('HSCAN', index, from, 'COUNT', most)
  return found[1] ~= '0' and found[1] or '', found[2]
end

while cursor ~= '' and #comments < count and size < bytes do
  local found
  cursor, found = walk(bodies, cursor, math.min(count, 8))
  for i = 1, #found, 2 do add(found[i], found[i + 1]) end
end
for i = ARGV_BEFORE + 1, #ids do
  local body = redis.call('HGET', bodies, ids[i])
  if body then add(ids[i], body) end
end
-- Fingerprints come after the last comment, so that theirs were read before, or are new.
if cursor == '' and echo ~= '' then
  echo, met = walk(fingerprints, echo, count)
end

local server = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
return {
  redis.call('GET', version) or '0', redis.call('GET', path) or '', server, cursor, echo,
  comments, met, redis.call('ZRANGE', deleted, 0, -1),
}
