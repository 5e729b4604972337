-- Raise a page's version, because something has changed that answers look up for it.
--
-- KEYS    version  string  {p}:version
-- ARGV    now      int     ms since the epoch: the least that the version becomes
-- RETURNS OK version
-- INCLUDE version
-- COST    O(1)

local version = KEYS[1]
local now = ARGV[1]

return {'OK', raise_version(version, now)}
