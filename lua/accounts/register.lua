-- Make an account unless there is one with its mail; the first one may be an administrator's.
--
-- KEYS    bodies          hash  {accounts}:bodies          account id -> JSON that readers may see
--         credentials     hash  {accounts}:credentials     account id -> JSON that nobody may see
--         mails           hash  {accounts}:mails           mail in its canonical form -> account id
--         ids             zset  {accounts}:ids             every account, score 0: they sort by age
--         administrators  zset  {accounts}:administrators  ids of administrators, score 0
--         identities      hash  {accounts}:identities      <service> <id there> -> account id
--         link            string  {accounts}:link:<digest>  what the link holds that asks for this
-- ARGV    id              text  a new one
--         mail            text  in its canonical form
--         first           json  its body if there is no account yet; empty: it may not be the first
--         other           json  its body if there is one; empty: it may be no other
--         founds          flag  that first body is an administrator's
--         administers     flag  that other body is an administrator's
--         secret          json  its credentials
--         follows         text  what that link holds, which is used up by this; empty: there is none
--         known_by...     text  what other services know it by: <service> <id there>
-- RETURNS FIRST                 made, as the first
--         OK                    made, as another
--         EXPIRED               the link was used already, or is too old
--         TAKEN id              this account has that mail
--         KNOWN id              this account has one of those identities
--         CLOSED                it may not be made
-- COST    O(log n)

local bodies, credentials, mails, ids, administrators = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local identities, link = KEYS[6], KEYS[7]
local id, mail, first, other = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local founds, administers, secret, follows = ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local known_by = ARGV

if follows ~= '' and redis.call('GET', link) ~= follows then
  return {'EXPIRED'}
end
local is_first = redis.call('HLEN', bodies) == 0
local body = is_first and first or other
for n = 9, #known_by do
  local known = redis.call('HGET', identities, known_by[n])
  if known then
    return {'KNOWN', known}
  end
end
local owner = redis.call('HGET', mails, mail)
if owner then
  return {'TAKEN', owner}
end
if body == '' then
  return {'CLOSED'}
end
if follows ~= '' then
  redis.call('DEL', link)
end
redis.call('HSET', bodies, id, body)
redis.call('HSET', credentials, id, secret)
redis.call('HSET', mails, mail, id)
redis.call('ZADD', ids, 0, id)
for n = 9, #known_by do
  redis.call('HSET', identities, known_by[n], id)
end
if (is_first and founds or administers) == '1' then
  redis.call('ZADD', administrators, 0, id)
end
return {is_first and 'FIRST' or 'OK'}
