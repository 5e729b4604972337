-- KEYS newest, replies, bodies; ARGV roots to skip, roots wanted, ZREVRANGE | ZRANGE, joined | parts.
-- RETURNS the number of comments, the number of roots, then either the finished text or its parts.
local first, size = tonumber(ARGV[1]), tonumber(ARGV[2])
local ids, places = {}, {}
for _, root in ipairs(redis.call(ARGV[3], KEYS[1], first, first + size - 1)) do
  ids[#ids + 1], places[#places + 1] = root, 'root'
  local replies = redis.call('ZRANGEBYLEX', KEYS[2], '[' .. root .. ':', '(' .. root .. ';')
  for _, member in ipairs(replies) do
    ids[#ids + 1], places[#places + 1] = string.sub(member, #root + 2), 'reply'
  end
end
local count, roots = redis.call('HLEN', KEYS[3]), redis.call('ZCARD', KEYS[1])
if #ids == 0 then return {count, roots} end
local bodies = redis.call('HMGET', KEYS[3], unpack(ids))
-- A root's body ends where its replies begin: {..., "children":[
local parts = {}
local is_first = true
for i = 1, #bodies do
  if places[i] == 'root' then
    if i > 1 then parts[#parts + 1] = ']},' end
    is_first = true
  elseif is_first then
    is_first = false
  else
    parts[#parts + 1] = ','
  end
  parts[#parts + 1] = bodies[i]
end
parts[#parts + 1] = ']}'
if ARGV[4] == 'joined' then return {count, roots, table.concat(parts)} end
return {count, roots, parts}
