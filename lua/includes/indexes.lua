-- Put a comment into the indexes of its page where it belongs, and remove it from all others.
-- `indexes_of` in service/footfall/comments/store/indexes.py has the same rules for check and restore.
--
-- INCLUDE place
-- KEYS    newest       zset    approved roots by insertion time, ms
--         liked        zset    the same roots by like count
--         pinned       zset    pinned roots of any status by time; they are in no other index
--         replies      zset    approved replies, member <root>:<id>, score 0
--         heldroots    zset    held roots by insertion time, ms
--         heldliked    zset    the same roots by like count
--         heldreplies  zset    held replies, member <root>:<id>, score 0
--         mine         zset    held comments of accounts, member <account>:<id>, score 0

-- `root` is empty for a root, `account` `-` for an author without one; a deleted comment is in none.
local function index_comment(id, at, root, account, status, is_pinned, like_count)
  local is_approved, is_held = status == 'approved', status == 'waiting' or status == 'spam'
  if account ~= '-' then
    place(mine, 0, account .. ':' .. id, is_held)
  end
  if root ~= '' then
    place(replies, 0, root .. ':' .. id, is_approved)
    place(heldreplies, 0, root .. ':' .. id, is_held)
    return
  end
  place(pinned, at, id, is_pinned and (is_approved or is_held))
  place(newest, at, id, is_approved and not is_pinned)
  place(liked, like_count, id, is_approved and not is_pinned)
  place(heldroots, at, id, is_held and not is_pinned)
  place(heldliked, like_count, id, is_held and not is_pinned)
end
