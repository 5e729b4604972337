-- Note that readers were not told of a comment's approval, if it is held: the next one is news.
--
-- KEYS    held  hash  {p}:held  comment id -> its status, and 1 behind it if it was approved before
-- ARGV    id    text
-- RETURNS OK
--         APPROVED    it is approved by now, so readers may be told
-- FLAGS   no-promise
-- COST    O(1)

local held = KEYS[1]
local id = ARGV[1]

local words = redis.call('HGET', held, id)
if not words then
  return {'APPROVED'}
end
redis.call('HSET', held, id, (string.gsub(words, ' 1', ' 0')))
return {'OK'}
