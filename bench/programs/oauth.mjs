// The reference server asks another server on every request which sign-ins there are; this one
// says at once that there are none, so that no third party is measured, or bothered.
import { createServer } from 'node:http'

const text = JSON.stringify({ services: [] })
createServer((request, response) => {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': text.length })
  response.end(text)
}).listen({ port: Number(process.argv[2]), host: '127.0.0.1', backlog: 4096 })
