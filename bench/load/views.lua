-- Views of 10,000 paths: wrk -t1 -c64 -d10s --latency -s views.lua URL/api/article
wrk.headers['Content-Type'] = 'application/json'

function request()
  return wrk.format('POST', nil, nil, '{"path":"/posts/' .. math.random(10000) .. '"}')
end
