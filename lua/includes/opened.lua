-- The hour of a month that a page's views are of now, and the count before it; nothing if there is none.

-- pcall, because damaged statistics must not stop what counts.
local function opened(days)
  local open = redis.pcall('HGET', days, 'open')
  return string.match(type(open) == 'string' and open or '', '^(%d+) (-?%d+)$')
end
