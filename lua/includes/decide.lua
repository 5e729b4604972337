-- Note who has changed a stored comment last: time in ms, by, and actor.
--
-- KEYS    decided  hash  comment id -> its last change
-- ARGV    now      int   ms since the epoch
--         by       text  as in includes/record.lua
--         actor    text  likewise

local function decide(id)
  redis.call('HSET', decided, id, now .. ' ' .. by .. ' ' .. actor)
end
