-- Try every command that scripts call, on keys of its own: does this user have the permissions?
--
-- KEYS    hash     hash    removed at the end, like all of them
--         members  zset
--         entries  stream
--         text     string
--         numbers  string  a set
--         sketch   string
-- ARGV    kept_ms  int     ms to keep a key that may not be removed
-- RETURNS command error...  each that failed, and why
-- FLAGS   no-promise
-- COST    O(1)

local hash, members, entries, text, numbers, sketch = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local kept_ms = ARGV[1]

local failed = {}

local function try(command, ...)
  local reply = redis.pcall(command, ...)
  if type(reply) == 'table' and reply.err then
    failed[#failed + 1] = command
    failed[#failed + 1] = reply.err
  end
end

try('HSET', hash, 'a', 1)
try('HSETNX', hash, 'b', 1)
try('HINCRBY', hash, 'a', 1)
try('HGET', hash, 'a')
try('HMGET', hash, 'a', 'b')
try('HEXISTS', hash, 'a')
try('HLEN', hash)
try('HSCAN', hash, 0)
try('HDEL', hash, 'a')
try('ZADD', members, 1, 'a')
try('ZSCORE', members, 'a')
try('ZCARD', members)
try('ZCOUNT', members, 0, 1)
try('ZRANGE', members, 0, 0)
try('ZRANGEBYLEX', members, '-', '+')
try('ZLEXCOUNT', members, '-', '+')
try('ZREM', members, 'a')
try('ZREMRANGEBYRANK', members, 0, 0)
try('ZREMRANGEBYSCORE', members, 0, 1)
try('XADD', entries, '1-1', 'a', 1)
try('XRANGE', entries, '-', '+')
try('XLEN', entries)
try('XDEL', entries, '1-1')
try('XACK', entries, 'nobody', '1-1')
try('SET', text, 1)
try('GET', text)
try('INCRBY', text, 1)
try('PEXPIRE', text, kept_ms)
try('PTTL', text)
try('SADD', numbers, 1)
try('SCARD', numbers)
try('SMEMBERS', numbers)
try('PFADD', sketch, 1)
try('PFCOUNT', sketch)
try('PFMERGE', sketch, sketch)
-- The others fail if a part of this failed before, so a missing RENAME is reported alone.
try('SET', text, 1)
try('RENAME', text, sketch)
try('DEL', hash, members, entries, text, numbers, sketch)
return failed
