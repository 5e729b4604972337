-- Note that a comment's approval was not announced, if it is unpublished: the next approval is news.
--
-- KEYS    held  hash  {p}:held  comment id -> its status, then 1 if it was approved before
-- ARGV    id    text
-- RETURNS OK
--         APPROVED    it is approved by now, so it may be announced
-- FLAGS   no-promise
-- COST    O(1)

local words = redis.call('HGET', held, id)
if not words then
  return {'APPROVED'}
end
redis.call('HSET', held, id, (string.gsub(words, ' 1', ' 0')))
return {'OK'}
