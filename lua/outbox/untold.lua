-- Note that readers were not told of a comment's approval, if it is held: the next one is news.
--
-- KEYS    held       hash  {p}:held
--         withdrawn  zset  {p}:withdrawn  held comments that were approved before; score 0
--                                         if nobody was told
-- ARGV    id         text
-- RETURNS OK
--         APPROVED             it is approved by now, so readers may be told
-- FLAGS   no-promise
-- COST    O(1)

local held, withdrawn = KEYS[1], KEYS[2]
local id = ARGV[1]

if redis.call('HEXISTS', held, id) == 0 then
  return {'APPROVED'}
end
redis.call('ZADD', withdrawn, 'XX', 0, id)
return {'OK'}
