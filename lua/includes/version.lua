-- Raise a page's version, to the time at least: no number comes twice, even if the last changes
-- were lost.

local function raise_version(version, now)
  local raised = math.max(tonumber(redis.call('GET', version) or 0) + 1, tonumber(now))
  redis.call('SET', version, string.format('%.0f', raised))
  return raised
end
