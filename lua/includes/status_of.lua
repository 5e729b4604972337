-- A comment's status, approved | waiting | spam | deleted, and the mark of an unpublished one: 1 if it was
-- approved and announced before, 0 if approved only, empty if never approved.
--
-- KEYS    held  hash  comment id -> its status and mark; `deleted` is followed by its former status

local function status_of(id)
  local words = redis.call('HGET', held, id)
  if not words then
    return 'approved', ''
  end
  return string.match(words, '^(%l+) ?(%d?)')
end
