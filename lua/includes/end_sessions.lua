-- End an account's sessions, all but the one that is kept; '' keeps none.
--
-- KEYS    sessions  zset  the account's sessions by when they end, ms
--         logins    hash  session -> JSON: how and where it began

local function end_sessions(kept)
  for _, session in ipairs(redis.call('ZRANGE', sessions, 0, -1)) do
    if session ~= kept then
      redis.call('ZREM', sessions, session)
      redis.call('HDEL', logins, session)
    end
  end
end
