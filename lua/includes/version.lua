-- Raise a page's version, at least to the time in ms: so no version is used twice, even if a crash
-- has lost the last changes.

local function raise_version(version, now)
  local raised = math.max(tonumber(redis.call('GET', version) or 0) + 1, tonumber(now))
  redis.call('SET', version, string.format('%.0f', raised))
  return raised
end
