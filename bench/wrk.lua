-- Plays prepared requests in turn, and reports exact numbers.
--
-- Arguments after `--`: a file of requests and the first number. Requests end in \0; a \1 in one
-- becomes a number that no other request has, ten digits wide, and a \2 the address of a visitor,
-- another one in each request. There is one thread, so the order of the file is the order of
-- sending.

local threads = {}

function setup(thread) threads[#threads + 1] = thread end

function init(args)
  issued, first = 0, tonumber(args[2])
  whole, parts = {}, {}
  local file = assert(io.open(args[1], 'rb'))
  local text = file:read('*a')
  file:close()
  for each in text:gmatch('[^%z]+') do
    local n = #whole + 1
    if each:find('[\1\2]') then
      -- What is between the marks, and the marks, in turn.
      local pieces = {}
      for piece, mark in (each .. '\3'):gmatch('([^\1\2\3]*)([\1\2\3])') do
        pieces[#pieces + 1], pieces[#pieces + 2] = piece, mark
      end
      pieces[#pieces] = nil
      whole[n], parts[n] = false, pieces
    else
      whole[n] = each
    end
  end
  total = #whole
  text = nil
  collectgarbage()
end

function request()
  -- The first is only for wrk to look at, not to send.
  if not is_seen then
    is_seen = true
    return whole[1] or filled(parts[1], 0)
  end
  local i = issued % total + 1
  issued = issued + 1
  local all = whole[i]
  if all then return all end
  return filled(parts[i], first + issued)
end

function filled(p, n)
  local number = string.format('%010d', n)
  if #p == 3 and p[2] == '\1' then return p[1] .. number .. p[3] end
  local address = visitor(n)
  if #p == 5 and p[4] == '\2' then return p[1] .. number .. p[3] .. address .. p[5] end
  local text = p[1]
  for i = 2, #p, 2 do
    text = text .. (p[i] == '\1' and number or address) .. p[i + 1]
  end
  return text
end

-- The step is odd, so each address of 11.0.0.0/8 comes once before the first comes back; and it is
-- wide, so visitors who follow each other are not neighbours.
function visitor(n)
  local host = n * 1234567 % 16777216
  return string.format(
    '11.%d.%d.%d', math.floor(host / 65536), math.floor(host / 256) % 256, host % 256)
end

function done(summary, latency)
  local errors = summary.errors
  local sent = 0
  for _, thread in ipairs(threads) do sent = sent + thread:get('issued') end
  print(string.format(
    'RESULT {"sent":%d,"answered":%d,"refused":%d,"broken":%d,"timeouts":%d,"us":%d,"bytes":%d,"p50":%d,"p99":%d,"p999":%d,"max":%d}',
    sent, summary.requests, errors.status, errors.connect + errors.read + errors.write,
    errors.timeout, summary.duration, summary.bytes, latency:percentile(50),
    latency:percentile(99), latency:percentile(99.9), latency.max))
end
