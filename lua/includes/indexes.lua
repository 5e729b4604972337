-- Put a comment into the indexes of its page where it belongs, and remove it from all others.
-- `indexes_of` in service/footfall/store/indexes.py has the same rules for check and restore.
--
-- INCLUDE place
-- KEYS    newest       zset    approved roots by insertion time, ms
--         liked        zset    the same roots by like count
--         pinned       zset    pinned roots of any status by time; they are in no other index
--         replies      zset    approved replies, member <root>:<id>, score 0
--         heldroots    zset    held roots by insertion time, ms
--         heldliked    zset    the same roots by like count
--         heldreplies  zset    held replies, member <root>:<id>, score 0
--         mine         zset    held comments of this comment's author, by time
-- ARGV    id           text    the comment's
--         at           int     its insertion time, ms since the epoch
--         root         text    id of the root replied under, empty for a root
--         owner        flag    the author has an account

local function index_comment(status, is_pinned, like_count)
  local is_approved = status == 'approved'
  if owner == '1' then
    place(mine, at, id, not is_approved)
  end
  if root ~= '' then
    place(replies, 0, root .. ':' .. id, is_approved)
    place(heldreplies, 0, root .. ':' .. id, not is_approved)
    return
  end
  local is_listed = is_approved and not is_pinned
  local is_held = not is_approved and not is_pinned
  place(pinned, at, id, is_pinned)
  place(newest, at, id, is_listed)
  place(liked, like_count, id, is_listed)
  place(heldroots, at, id, is_held)
  place(heldliked, like_count, id, is_held)
end
