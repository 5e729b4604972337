-- Create an account unless one has its email; the first one may be an administrator's.
--
-- KEYS    bodies          hash  {accounts}:bodies          account id -> public JSON
--         credentials     hash  {accounts}:credentials     account id -> secret JSON
--         mails           hash  {accounts}:mails           canonical email -> account id
--         ids             zset  {accounts}:ids             every account, score 0: they sort by age
--         administrators  zset  {accounts}:administrators  ids of administrators, score 0
--         identities      hash  {accounts}:identities      <service> <id there> -> account id
--         link            string  {accounts}:link:<digest>  the value of the link for this request
-- ARGV    id              text  a new one
--         mail            text  canonical email
--         first           json  its body if it is the first account; empty: reject that
--         other           json  its body otherwise; empty: reject that
--         founds          flag  `first` is an administrator's
--         administers     flag  `other` is an administrator's
--         secret          json  its credentials
--         follows         text  the value of the link that this uses up; empty: none
--         known_by...     text  its identities: <service> <id there>
-- RETURNS FIRST                 created, as the first
--         OK                    created, as another
--         EXPIRED               the link was used or has expired
--         TAKEN id              this account has that email
--         KNOWN id              this account has one of those identities
--         CLOSED                rejected
-- COST    O(log n)

if follows ~= '' and redis.call('GET', link) ~= follows then
  return {'EXPIRED'}
end
local is_first = redis.call('HLEN', bodies) == 0
local body = is_first and first or other
for n = ARGV_BEFORE + 1, #known_by do
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
for n = ARGV_BEFORE + 1, #known_by do
  redis.call('HSET', identities, known_by[n], id)
end
if (is_first and founds or administers) == '1' then
  redis.call('ZADD', administrators, 0, id)
end
return {is_first and 'FIRST' or 'OK'}
