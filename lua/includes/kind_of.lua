-- The kind of a hash of counters, by its name: long:<n>, or counts.

local function kind_of(counts)
  return string.match(counts, ':(long:%d+)$') or 'counts'
end
