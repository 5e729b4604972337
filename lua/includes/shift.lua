-- What a counter got in addition is not of the open hour.
-- INCLUDE opened

local function shift(days, added)
  local hour, before = opened(days)
  if hour and added ~= 0 then
    redis.call('HSET', days, 'open', string.format('%s %.0f', hour, before + added))
  end
end
