-- Asks Redis over one of nginx's sockets, kept in a pool: query(address, word, ...) -> reply.
local tcp, concat, select, tonumber = ngx.socket.tcp, table.concat, select, tonumber

local function read(sock)
  local line = assert(sock:receive())
  local kind, rest = line:byte(), line:sub(2)
  if kind == 36 then      -- $ text
    local size = tonumber(rest)
    if size < 0 then return nil end
    local text = assert(sock:receive(size))
    assert(sock:receive(2))
    return text
  elseif kind == 58 then  -- : number
    return tonumber(rest)
  elseif kind == 42 then  -- * list
    local list = {}
    for i = 1, tonumber(rest) do list[i] = read(sock) or false end
    return list
  elseif kind == 43 then  -- + word
    return rest
  end
  error(rest)
end

return function(address, ...)
  local n = select('#', ...)
  local words = {'*', n, '\r\n'}
  for i = 1, n do
    local word = tostring((select(i, ...)))
    local at = #words
    words[at + 1], words[at + 2], words[at + 3] = '$', #word, '\r\n'
    words[at + 4], words[at + 5] = word, '\r\n'
  end
  local sock = tcp()
  assert(sock:connect(address))
  assert(sock:send(concat(words)))
  local reply = read(sock)
  sock:setkeepalive(60000, 1024)
  return reply
end
