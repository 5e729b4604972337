-- Append a change to the page's journal, in the same step. The entry's
-- id is the page's version after it, which no other change has.
--
-- INCLUDE count_visible
-- KEYS    bodies   hash    comment id -> JSON
--         held     hash    comments that are not approved
--         hidden   hash    how many replies below deleted roots are still in the indexes
--         journal  stream  changes that the site has not followed yet
-- ARGV    by       text    author | moderator | judge | readers | import | erasure | sweeper | move | check
--         actor    text    a moderator's account, door and action; `-` for none. Empty for others

-- Each of `changes` is a comment: its id; the status before, empty for a new one, and now, `gone` for
-- one that was deleted with another one, or has left the page; the mark that it had; was it pinned, and is it; account before and now; author before and now.
local function record(version, did, changes, lengths)
  local lines = {}
  for i, change in ipairs(changes) do
    lines[i] = table.concat(change, ' ')
  end
  redis.call(
    'XADD', journal, string.format('%.0f-0', version), 'did', did, 'by', by, 'actor', actor,
    'visible', count_visible(), 'lengths', lengths, 'comments', table.concat(lines, '\n')
  )
end
