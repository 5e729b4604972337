-- A comment's status, approved | waiting | spam | deleted, and the mark of a held one: 1 if it was
-- approved before and people know of it, 0 if nobody was told, empty if it never was.
--
-- KEYS    held  hash  comment id -> its status and mark; `deleted` is followed by what it was before

local function status_of(id)
  local words = redis.call('HGET', held, id)
  if not words then
    return 'approved', ''
  end
  return string.match(words, '^(%l+) ?(%d?)')
end
