-- End an account's sessions except one; '' ends all.
--
-- KEYS    sessions  zset  the account's sessions by end, ms
--         logins    hash  session -> JSON: start, method, browser, network

local function end_sessions(kept)
  for _, session in ipairs(redis.call('ZRANGE', sessions, 0, -1)) do
    if session ~= kept then
      redis.call('ZREM', sessions, session)
      redis.call('HDEL', logins, session)
    end
  end
end
