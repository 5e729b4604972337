-- Change many counters in one step, none of them below zero.
--
-- KEYS    counts...   hash  of each change in turn: {c}:counts or {c}:long, "<counter> <path>" -> count;
--                           and {c}:numbers, kind of such a hash -> how many counters the group has in those
-- ARGV    changes...  text  field and delta, in turn, one pair a change
-- RETURNS counts            the new values, in the order of the changes
-- INCLUDE kind_of
-- COST    O(changes)

local counts, changes = KEYS, ARGV

local answers = {}

for i = 1, #counts / 2 do
  local at = 2 * i - 1
  local field, delta = changes[at], changes[at + 1]
  local step = tonumber(delta)
  -- Only a rise may create a field, or strangers could fill the memory with zeros.
  if step < 1 and redis.pcall('HEXISTS', counts[at], field) == 0 then
    answers[i] = 0
  else
    -- pcall, because a damaged counter or number must not stop the changes after it.
    local count = redis.pcall('HINCRBY', counts[at], field, delta)
    if type(count) == 'number' then
      if count <= 0 and step < 1 then
        -- A count of zero is not stored. So one that equals its step has just begun, and the common
        -- change of a counter that exists asks for nothing else.
        redis.pcall('HDEL', counts[at], field)
        redis.pcall('HINCRBY', counts[at + 1], kind_of(counts[at]), -1)
        count = 0
      elseif count == step then
        redis.pcall('HINCRBY', counts[at + 1], kind_of(counts[at]), 1)
      elseif count < step then
        -- It was below zero, which only damage brings about. Several visitors' rises may be one
        -- step, and each gets a count of its own from it.
        redis.pcall('HSET', counts[at], field, delta)
        count = step
      end
    end
    answers[i] = count
  end
end
return answers
