-- Note that readers see a change of an account; a later change stays noted.
--
-- KEYS    unseen  zset  {accounts}:unseen  changed accounts whose pages readers may still see unchanged
-- ARGV    id      text
--         since   int   when the change was made, ms
-- RETURNS OK
-- COST    O(log n)

if redis.call('ZSCORE', unseen, id) == since then
  redis.call('ZREM', unseen, id)
end
return {'OK'}
