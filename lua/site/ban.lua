-- Store, change or lift a ban, unless it has changed since it was read, and log that.
--
-- KEYS    bans    hash    {site}:bans  what is banned -> JSON; `version`: raised by every change
--         log     stream  {site}:log   what moderators did lately
--         caught  hash    {site}:caught  how often each ban has caught somebody, and when last
-- ARGV    value   text    what is banned, in its canonical form
--         before  json    as it was read; empty: there was none
--         ban     json    empty: it is lifted
--         now     int     ms since the epoch: the least that the version becomes
--         most    int     bans that there may be
--         entry... text   fields and values for the log, in turn; none: nobody moderated
-- RETURNS OK              done
--         CHANGED         it has changed since it was read
--         FULL            there are as many bans as allowed
-- COST    O(1)

local bans, log, caught = KEYS[1], KEYS[2], KEYS[3]
local value, before, ban, now, most, entry = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV

-- The index of the log's entry, and about how many entries the log has.
local FIRST, LOGGED = 6, 10000

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
if #entry >= FIRST then
  redis.call('XADD', log, 'MAXLEN', '~', LOGGED, '*', unpack(entry, FIRST))
end
return {'OK'}
