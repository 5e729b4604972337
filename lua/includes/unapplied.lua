-- The oldest entries of a page's journal: callers apply them to the site.
--
-- KEYS    journal  stream  changes that the site has not followed yet

local function unapplied()
  return redis.call('XRANGE', journal, '-', '+', 'COUNT', 10)
end
