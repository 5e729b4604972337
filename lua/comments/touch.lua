-- Raise a page's version, because something has changed that answers look up for it, or so that
-- what its journal has is as durable as this change.
--
-- KEYS    version  string  {p}:version
--         journal  stream  {p}:journal
-- ARGV    now      int     ms since the epoch: the least that the version becomes
--         most     int     entries to return
-- RETURNS OK version entries  the journal's oldest entries
-- INCLUDE version
-- COST    O(most)

local version, journal = KEYS[1], KEYS[2]
local now, most = ARGV[1], ARGV[2]

local entries = redis.call('XRANGE', journal, '-', '+', 'COUNT', most)
return {'OK', raise_version(version, now), entries}
