-- Apply the corrections of `footfall check --repair` to a page's keys, unless the page has changed
-- since it was read.
--
-- KEYS    version  string  {p}:version
--         wrong... string  the page's keys to change, of any type
-- ARGV    known    text    the version at which they were read; empty: the page had none
--         now      int     ms since the epoch: the new version is at least this
--         changes... text  of each in turn: the place of its key, the number of its words, and these:
--                          a command and what follows the key, as in ZREM <key> <member>
-- RETURNS OK version       done
--         OVERTAKEN        the page has another version by now
-- INCLUDE version
-- COST    O(changes * log n)

if (redis.call('GET', version) or '') ~= known then
  return {'OVERTAKEN'}
end
local at = ARGV_BEFORE + 1
while at <= #changes do
  local index, last = wrong[KEYS_BEFORE + tonumber(changes[at])], at + 1 + tonumber(changes[at + 1])
  redis.call(changes[at + 2], index, unpack(changes, at + 3, last))
  at = last + 1
end
return {'OK', raise_version(version, now)}
