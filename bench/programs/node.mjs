// Node's own http server with ioredis: the hottest requests of the same API.
import { createServer } from 'node:http'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const [port, socket, modules, programs] = process.argv.slice(2)
const Redis = createRequire(modules + '/')('ioredis')
// With its commands of one turn of the event loop sent together: its best.
const redis = new Redis(socket, { enableAutoPipelining: true })
redis.defineCommand('increment', {
  numberOfKeys: 1,
  lua: readFileSync(programs + '/increment.lua', 'utf8'),
})

function finish(response, data) {
  const text = JSON.stringify({ errno: 0, errmsg: '', data })
  response.writeHead(200, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
  })
  response.end(text)
}

const server = createServer((request, response) => {
  const fail = () => response.writeHead(500).end()
  if (request.method === 'POST') {
    let body = ''
    request.on('data', (piece) => (body += piece))
    request.on('end', () => {
      const { path, action } = JSON.parse(body)
      redis
        .increment('counts', 'time ' + path, action === 'desc' ? -1 : 1)
        .then((time) => finish(response, [{ time }]), fail)
    })
    return
  }
  const paths = new URLSearchParams(request.url.slice(request.url.indexOf('?'))).get('path').split(',')
  redis
    .hmget('counts', ...paths.map((path) => 'time ' + path))
    .then((counts) => finish(response, counts.map((n) => ({ time: Number(n ?? 0) }))), fail)
})
server.keepAliveTimeout = 60000
server.maxRequestsPerSocket = 0
server.listen({ port: Number(port), host: '127.0.0.1', backlog: 4096 })
