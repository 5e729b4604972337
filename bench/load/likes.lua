-- Likes of one comment: wrk -t1 -c64 -d10s --latency -s likes.lua URL/api/comment/ID
wrk.method = 'PUT'
wrk.body = '{"like":true}'
wrk.headers['Content-Type'] = 'application/json'
