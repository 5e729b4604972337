-- Put a member into an index with this score, or remove it.

local function place(index, score, member, is_in)
  if is_in then
    redis.call('ZADD', index, score, member)
  else
    redis.call('ZREM', index, member)
  end
end
