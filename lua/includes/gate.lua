-- The gate of every change of a stored comment: is it still what was read?
--
-- KEYS    decided  hash  comment id -> its last change (includes/decide.lua)
-- ARGV    only     text  the status that it must have, or `by` and the action that must have changed it
--                        last; empty: any
--         seen     text  its body as it was read; empty: any

local function is_as_read(id, status, body)
  local action = string.match(only, '^by (.+)$')
  if action then
    return string.match(redis.call('HGET', decided, id) or '', '(%S+)$') == action
  end
  return (only == '' or only == status) and (seen == '' or seen == body)
end
