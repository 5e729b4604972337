-- Add an event for a comment's new status, in the same step, for the notifications.
-- `seen` says whether it was approved before: what people know is no news.
--
-- KEYS    outbox  stream  events that are not in the site's outbox yet
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
