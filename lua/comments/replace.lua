-- Replace bodies of comments, unless they have changed since they were read.
--
-- KEYS    version     string  {p}:version
--         bodies      hash    {p}:bodies
--         longest     string  {p}:longest
-- ARGV    now         int     ms since the epoch: the new version is at least this
--         changes...[3] json    three for each comment: its id, the body that was read, the new body
-- RETURNS a number for each change: 1 if it was made, 0 if the comment has another body or
--         does not exist
-- INCLUDE version
-- COST    O(changes), as many bytes as they have

local done, sum = {}, 0
local known = tonumber(redis.call('GET', longest) or math.huge)
for i = ARGV_BEFORE + 1, #changes, ARGV_EACH do
  local id, before, after = changes[i], changes[i + 1], changes[i + 2]
  local is_same = redis.call('HGET', bodies, id) == before
  if is_same then
    redis.call('HSET', bodies, id, after)
    if #after > known then
      redis.call('SET', longest, #after)
      known = #after
    end
    sum = sum + 1
  end
  done[#done + 1] = is_same and 1 or 0
end
if sum > 0 then
  raise_version(version, now)
end
return done
