/** The gateway of the measurements, in a process of its own. Prints its base URL; the model says what it answers. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { contentEvent, longContentStream, longResponseStream, shortContentStream } from './replies.ts'

/** Between two events of a paced stream. */
const pauseMs = 20
const pacedEvents = 100

const bodies: Readonly<Record<string, string>> = {
  'bench-short': shortContentStream(),
  'bench-long': longContentStream(),
  'bench-long-response': longResponseStream(),
}

const server = createServer(async (request, response) => {
  const sent = await textOf(request)
  const model = /models\/([\w-]+):/.exec(request.url!)?.[1] ?? (JSON.parse(sent) as { model: string }).model
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  if (model === 'bench-paced') pace(response, pacedEvents)
  else response.end(bodies[model])
})
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})

/** Each event carries the moment at which it was written, in nanoseconds of the machine's own clock. */
function pace(response: ServerResponse, left: number): void {
  if (left === 0) return void response.end(contentEvent(' ', 'STOP'))
  response.write(contentEvent(`at=${process.hrtime.bigint()}; `))
  setTimeout(() => pace(response, left - 1), pauseMs)
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk as string
  return text
}
