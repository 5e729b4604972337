-- Find an account by email.
--
-- KEYS    bodies       hash  {accounts}:bodies       account id -> public JSON
--         credentials  hash  {accounts}:credentials  account id -> secret JSON
--         mails        hash  {accounts}:mails        canonical email -> account id
-- ARGV    mail         text  canonical email
-- RETURNS id body credentials  or nothing if there is none
-- FLAGS   no-writes
-- COST    O(1)

local id = redis.call('HGET', mails, mail)
local body = id and redis.call('HGET', bodies, id)
if not body then
  return {}
end
return {id, body, redis.call('HGET', credentials, id) or ''}
