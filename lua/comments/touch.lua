-- Raise a page's version, because something that its responses include has changed, or so that
-- its journal is as durable as this change.
--
-- KEYS    version  string  {p}:version
--         journal  stream  {p}:journal
-- ARGV    now      int     ms since the epoch: the least that the version becomes
--         most     int     entries to return
-- RETURNS OK version entries  the journal's oldest entries
-- INCLUDE version
-- COST    O(most)

local entries = redis.call('XRANGE', journal, '-', '+', 'COUNT', most)
return {'OK', raise_version(version, now), entries}
