-- Write down that a comment has another status, in the same step: whoever tells people finds it.
-- `seen` says whether it was approved before: what people know is no news.
--
-- KEYS    outbox  stream  what was not told yet of the page's comments
-- ARGV    id      text    the comment's
--         by      text    author | moderator | judge; empty: nobody is told of anything

local function record_event(was, now, number, seen)
  if by ~= '' and was ~= now then
    number = string.format('%.0f', number)
    redis.call(
      'XADD', outbox, '*', 'id', id, 'was', was, 'now', now, 'by', by, 'version', number,
      'seen', seen
    )
  end
end
