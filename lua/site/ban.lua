-- Store, change or lift a ban, unless it has changed since it was read, and log that.
--
-- KEYS    bans    hash    {site}:bans  ban -> JSON; `version`: raised by every change
--         log     stream  {site}:log   recent moderator actions
--         caught  hash    {site}:caught  per ban: number of catches, and the last
-- ARGV    value   text    the ban, in its canonical form
--         before  json    as it was read; empty: there was none
--         ban     json    empty: lift it
--         now     int     ms since the epoch: the least that the version becomes
--         most    int     maximum number of bans
--         entry... text   fields and values for the log, in turn; none: not moderated
-- RETURNS OK              done
--         CHANGED         it has changed since it was read
--         FULL            the maximum is reached
-- COST    O(1)

-- The index of the log's entry, and about the number of entries the log keeps.
local LOGGED = 10000

if (redis.call('HGET', bans, value) or '') ~= before then
  return {'CHANGED'}
end
-- One field is the version.
if ban ~= '' and before == '' and redis.call('HLEN', bans) > tonumber(most) then
  return {'FULL'}
end
if ban == '' then
  redis.call('HDEL', bans, value)
  redis.call('HDEL', caught, 'n ' .. value, 'at ' .. value)
else
  redis.call('HSET', bans, value, ban)
end
local version = math.max(tonumber(redis.call('HGET', bans, 'version') or 0) + 1, tonumber(now))
redis.call('HSET', bans, 'version', string.format('%.0f', version))
if #entry > ARGV_BEFORE then
  redis.call('XADD', log, 'MAXLEN', '~', LOGGED, '*', unpack(entry, ARGV_BEFORE + 1))
end
return {'OK'}
