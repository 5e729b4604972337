-- Cut entries from a page's journal that the site has followed.
--
-- KEYS    journal  stream  {p}:journal
-- ARGV    applied  int     the version of the last entry that the site has followed
-- RETURNS OK left          number of entries after it
-- FLAGS   no-promise
-- COST    O(entries cut)

-- Entries per cut; more than ten come only together (lua/includes/unapplied.lua).
local MOST = 100

local old = redis.call('XRANGE', journal, '-', string.format('%.0f', applied), 'COUNT', MOST)
if #old > 0 then
  local ids = {}
  for i, entry in ipairs(old) do
    ids[i] = entry[1]
  end
  redis.call('XDEL', journal, unpack(ids))
end
local left = redis.call('XLEN', journal)
if left == 0 then
  redis.call('DEL', journal)
end
return {'OK', left}
