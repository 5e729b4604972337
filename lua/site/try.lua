-- Try commands on keys of its own: does this user have the permissions?
--
-- KEYS    hash         hash    removed by the last command, like all of them
--         members      zset
--         entries      stream
--         text         string
--         numbers      string  a set
--         sketch       string
-- ARGV    commands...  text    with arguments, separated by blanks; the names of KEYS stand for these
-- RETURNS command error...     each that failed, and why
-- FLAGS   no-promise
-- COST    O(commands)

local keys = {
  hash = hash, members = members, entries = entries, text = text, numbers = numbers, sketch = sketch
}
local failed = {}

for _, command in ipairs(commands) do
  local words = {}
  for word in string.gmatch(command, '%S+') do
    words[#words + 1] = keys[word] or word
  end
  local reply = redis.pcall(unpack(words))
  if type(reply) == 'table' and reply.err then
    failed[#failed + 1] = command
    failed[#failed + 1] = reply.err
  end
end
return failed
