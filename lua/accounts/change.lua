-- Change or remove an account, unless it has changed since it was read.
--
-- KEYS    bodies          hash  {accounts}:bodies          account id -> public JSON
--         credentials     hash  {accounts}:credentials     account id -> secret JSON
--         mails           hash  {accounts}:mails           canonical email -> account id
--         ids             zset  {accounts}:ids             every account, score 0
--         administrators  zset  {accounts}:administrators  ids of administrators, score 0
--         sessions        zset  {accounts}:sessions:<id>   its sessions by end, ms
--         logins          hash  {accounts}:logins:<id>     session -> JSON: start, method, browser, network
--         unseen          zset  {accounts}:unseen          accounts that readers may still see as
--                                                          they were, by change, ms
--         identities      hash  {accounts}:identities      <service> <id there> -> account id
--         link            string  {accounts}:link:<digest>  the value of the link for this request
--         places          zset  {accounts}:places:<id>     digests of addresses of recent logins
-- ARGV    id              text
--         old_body        json  as it was read
--         old_secret      json  its credentials as they were read
--         old_mail        text  canonical email
--         body            json  its new body; empty: remove it
--         secret          json  its new credentials
--         mail            text  canonical email
--         administers     flag  it becomes or stays an administrator
--         session         text  this account's session of the request; empty: another account's request
--         revokes         flag  end its sessions
--         keeps           flag  except that one
--         unseen_since    int   ms since the epoch; 0: readers do not see the change
--         follows         text  the value of the link that this uses up; empty: none
--         lost            number  identities to remove
--         known_by...     text  its identities: <service> <id there>; those to remove
--                               first
-- RETURNS OK                    done
--         EXPIRED               the link was used or has expired
--         CHANGED               it has changed since it was read, or was removed
--         ENDED                 that session has ended
--         TAKEN id              this account has the new email
--         KNOWN id              this account has one of those identities
--         LAST                  there would be no administrator left
-- INCLUDE end_sessions
-- COST    O(log n + sessions + places)

if follows ~= '' and redis.call('GET', link) ~= follows then
  return {'EXPIRED'}
end
if redis.call('HGET', bodies, id) ~= old_body
  or (redis.call('HGET', credentials, id) or '') ~= old_secret then
  return {'CHANGED'}
end
if session ~= '' and not redis.call('ZSCORE', sessions, session) then
  return {'ENDED'}
end
local owner = redis.call('HGET', mails, mail)
if body ~= '' and owner and owner ~= id then
  return {'TAKEN', owner}
end
for n = ARGV_BEFORE + 1 + lost, #known_by do
  local known = redis.call('HGET', identities, known_by[n])
  if known and known ~= id then
    return {'KNOWN', known}
  end
end
local is_administrator = redis.call('ZSCORE', administrators, id)
if is_administrator and administers == '0' and redis.call('ZCARD', administrators) == 1 then
  return {'LAST'}
end

if follows ~= '' then
  redis.call('DEL', link)
end
if redis.call('HGET', mails, old_mail) == id then
  redis.call('HDEL', mails, old_mail)
end
for n = ARGV_BEFORE + 1, #known_by do
  local identity = known_by[n]
  if n >= 15 + lost then
    redis.call('HSET', identities, identity, id)
  elseif redis.call('HGET', identities, identity) == id then
    redis.call('HDEL', identities, identity)
  end
end
if body == '' then
  redis.call('HDEL', bodies, id)
  redis.call('HDEL', credentials, id)
  redis.call('ZREM', ids, id)
  redis.call('DEL', places)
else
  redis.call('HSET', bodies, id, body)
  redis.call('HSET', credentials, id, secret)
  redis.call('HSET', mails, mail, id)
end
if administers == '1' then
  redis.call('ZADD', administrators, 0, id)
else
  redis.call('ZREM', administrators, id)
end
if revokes == '1' then
  end_sessions(keeps == '1' and session or '')
end
if unseen_since ~= '0' then
  redis.call('ZADD', unseen, unseen_since, id)
end
return {'OK'}
