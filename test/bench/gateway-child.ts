/** The gateway of the measurements, in a process of its own. Prints its base URL; the model says what it answers. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { bigPng, sendLargeVideo } from './large-files.ts'
import {
  contentEvent,
  longContentStream,
  longResponseStream,
  markdownContentStream,
  shortContentStream,
  variantStreams,
} from './replies.ts'

/** As bytes: turning 23 MB of text into them takes longer than a whole short reply, and is not what is measured. */
const bodies: Readonly<Record<string, Buffer>> = {
  'bench-short': Buffer.from(shortContentStream()),
  'bench-long': Buffer.from(longContentStream()),
  'bench-markdown': Buffer.from(markdownContentStream()),
  'bench-long-response': Buffer.from(longResponseStream()),
  ...Object.fromEntries(Object.entries(variantStreams()).map(([model, text]) => [model, Buffer.from(text)])),
}

const server = createServer(async (request, response) => {
  if (request.url!.startsWith('/v1/images/')) return answerImages(request, response)
  if (request.url === '/v1/videos/bench-video') return void response.end(JSON.stringify(video))
  if (request.url === '/v1/videos/bench-video/content') return sendLargeVideo(response)
  const sent = await json(request)
  const model = /models\/([\w-]+):/.exec(request.url!)?.[1] ?? (sent as { model: string }).model
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const million = millions[model]
  if (million !== undefined) await sendMillion(response, million)
  else if (model === 'bench-paced') pace(response, 100)
  else response.end(bodies[model])
})
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})

/** A thousand events, and the last one of a stream of a million. */
const millions: Readonly<Record<string, readonly [events: Buffer, last: string]>> = {
  'bench-million': [Buffer.from(contentEvent('river ').repeat(1_000)), contentEvent(' ', 'STOP')],
  'bench-million-response': [
    Buffer.from('data: {"type":"response.output_text.delta","delta":"river "}\n\n'.repeat(1_000)),
    'data: {"type":"response.completed","response":{"object":"response","status":"completed","output":[]}}\n\n',
  ],
}

async function sendMillion(
  response: ServerResponse,
  [events, last]: readonly [Buffer, string],
): Promise<void> {
  for (let thousand = 0; thousand < 1_000; thousand++)
    if (!response.write(events)) await once(response, 'drain')
  response.end(last)
}

const video = { id: 'bench-video', object: 'video', status: 'completed', progress: 100 }

const smallImage = bigPng(200).toString('base64')

/** Four images that make a reply of 100 MB, or one that makes 700 MB; an edit is read and answered with a small one. */
async function answerImages(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url!.endsWith('/edits')) {
    request.resume()
    await once(request, 'end')
    return void response.end(JSON.stringify({ created: 1, data: [{ b64_json: smallImage }] }))
  }
  const { model } = (await json(request)) as { model: string }
  const [count, bytes] = model === 'bench-huge' ? [1, 525_000_000] : [4, 18_750_000]
  const pieces = base64Pieces(bytes)
  response.writeHead(200, { 'content-type': 'application/json' })
  response.write('{"created":1,"data":[')
  for (let n = 0; n < count; n++) {
    response.write(`${n === 0 ? '' : ','}{"b64_json":"`)
    for (const piece of pieces) if (!response.write(piece)) await once(response, 'drain')
    response.write('"}')
  }
  response.end(']}')
}

const made: Record<number, readonly Buffer[]> = {}

/** An image of so many bytes as base64, made once: what is measured is its reader. */
function base64Pieces(bytes: number): readonly Buffer[] {
  // A multiple of 3, so that the pieces can be put together.
  const step = 3 * 1024 * 1024
  const piecesOf = (image: Buffer) =>
    Array.from({ length: Math.ceil(bytes / step) }, (_, index) =>
      Buffer.from(image.toString('base64', index * step, Math.min((index + 1) * step, bytes)), 'latin1'),
    )
  return (made[bytes] ??= piecesOf(bigPng(bytes)))
}

/** Each event carries the moment at which it was written, in nanoseconds of the machine's own clock. */
function pace(response: ServerResponse, left: number): void {
  if (left === 0) return void response.end(contentEvent(' ', 'STOP'))
  response.write(contentEvent(`at=${process.hrtime.bigint()}; `))
  setTimeout(() => pace(response, left - 1), 20)
}
