-- Change many counters in one step, none of them below zero.
--
-- KEYS    counts...   hash  {c}:counts, {c}:long or {c}:trial  "<counter> <path>" -> count; one key a change
-- ARGV    changes...  text  field and delta, in turn, one pair a change
-- RETURNS counts            the new values, in the order of the changes
-- COST    O(changes)

local counts, changes = KEYS, ARGV
local answers = {}
-- A trial's counters expire this long after its first one was made.
local TRIAL_SECONDS = 3600
local TRIAL_COUNTERS = 10000

for i = 1, #counts do
  local field, delta = changes[2 * i - 1], changes[2 * i]
  -- A decrement must not create a field, or strangers could fill the memory with zeros.
  if tonumber(delta) < 0 and redis.pcall('HEXISTS', counts[i], field) == 0 then
    answers[i] = 0
  else
    -- pcall, because a damaged counter must not stop the changes after it.
    local count = redis.pcall('HINCRBY', counts[i], field, delta)
    if type(count) == 'number' and count < 0 then
      redis.call('HSET', counts[i], field, 0)
      count = 0
    end
    if count == 1 and string.find(counts[i], ':trial:%x+$') then
      if redis.call('HLEN', counts[i]) > TRIAL_COUNTERS then
        redis.call('HDEL', counts[i], field)
        count = redis.error_reply('NOROOM a trial has at most ' .. TRIAL_COUNTERS .. ' counters')
      elseif redis.call('PTTL', counts[i]) < 0 then
        redis.call('EXPIRE', counts[i], TRIAL_SECONDS)
      end
    end
    answers[i] = count
  end
end
return answers
