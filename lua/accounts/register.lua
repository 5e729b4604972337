-- Make an account unless there is one with its mail; who is first may become an administrator.
--
-- KEYS    bodies          hash  {accounts}:bodies          account id -> JSON that readers may see
--         credentials     hash  {accounts}:credentials     account id -> JSON that nobody may see
--         mails           hash  {accounts}:mails           mail in its canonical form -> account id
--         ids             zset  {accounts}:ids             every account, score 0: they sort by age
--         administrators  zset  {accounts}:administrators  those who are one, score 0
-- ARGV    id              text  not there yet
--         mail            text  in its canonical form
--         first           json  its body if there is no account yet; empty: it may not be the first
--         other           json  its body if there is one; empty: it may be no other
--         founds          flag  that first body is an administrator's
--         administers     flag  that other body is an administrator's
--         secret          json  its credentials
-- RETURNS FIRST                 made, as the first
--         OK                    made, as another
--         TAKEN id              this account has that mail
--         CLOSED                it may not be made
-- COST    O(log n)

local bodies, credentials, mails, ids, administrators = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id, mail, first, other = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local founds, administers, secret = ARGV[5], ARGV[6], ARGV[7]

local is_first = redis.call('HLEN', bodies) == 0
local body = is_first and first or other
local owner = redis.call('HGET', mails, mail)
if owner then
  return {'TAKEN', owner}
end
if body == '' then
  return {'CLOSED'}
end
redis.call('HSET', bodies, id, body)
redis.call('HSET', credentials, id, secret)
redis.call('HSET', mails, mail, id)
redis.call('ZADD', ids, 0, id)
if (is_first and founds or administers) == '1' then
  redis.call('ZADD', administrators, 0, id)
end
return {is_first and 'FIRST' or 'OK'}
