-- The count before a month, and what was added to it in this, but for an open hour.

local function sum_of(days)
  local fields, sum = {'base', 'undated'}, 0
  for date = 1, 31 do
    fields[date + 2] = tostring(date)
  end
  for _, number in ipairs(redis.call('HMGET', days, unpack(fields))) do
    sum = sum + (tonumber(number or 0) or 0)
  end
  return sum
end
