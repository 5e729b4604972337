-- Store a comment's status, and the mark of an unpublished one.
--
-- KEYS    held  hash  comment id -> its status and mark

local function hold(id, status, mark)
  if status == 'approved' then
    redis.call('HDEL', held, id)
  else
    redis.call('HSET', held, id, mark == '' and status or status .. ' ' .. mark)
  end
end
