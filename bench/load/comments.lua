-- New comments on one page: wrk -t1 -c64 -d10s --latency -s comments.lua URL/api/comment
wrk.headers['Content-Type'] = 'application/json'
local n, start = 0, os.time()

function request()
  n = n + 1
  local text = 'Words ' .. start .. '-' .. n
  return wrk.format('POST', nil, nil, '{"comment":"' .. text .. '","url":"/a","nick":"Ann"}')
end
