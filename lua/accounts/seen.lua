-- Note that readers see an account as it is since a change; a later change is not forgotten.
--
-- KEYS    unseen  zset  {accounts}:unseen  accounts that readers may still see as they were
-- ARGV    id      text
--         since   int   when the change was made, ms
-- RETURNS OK
-- COST    O(log n)

local unseen = KEYS[1]
local id, since = ARGV[1], ARGV[2]

if redis.call('ZSCORE', unseen, id) == since then
  redis.call('ZREM', unseen, id)
end
return {'OK'}
