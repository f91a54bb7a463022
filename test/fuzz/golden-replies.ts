import { systemClock } from '../../src/context.ts'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { runningSandbox } from '../support/running-sandbox.ts'

/** A reply of the sandbox, with `{origin}` for its own address. */
interface GoldenReply {
  readonly status: number
  readonly type: string
  readonly body: Buffer
}

const aFunction =
  '[{"type":"function","name":"f","parameters":{"type":"object","properties":{"a":{"type":"string"}}}}]'
const schema = '{"type":"object","properties":{"a":{"type":"string"}}}'
const hill = ['A hill', '-m', 'gpt-image-2', '-o', 'b-{index}.{ext}', '--force']
const byAddress = ['-m', 'image-model-b', '--response-format', 'url', '--json']
const film = ['A hill', '-m', 'video-model-a', '-o', 'b.{ext}', '--force', '--wait']

/** Calls that together read every kind of reply. `a.png` is there. */
export const goldenCalls: Readonly<Record<string, readonly string[]>> = {
  'a response': ['respond', 'Hi', '--max-output-tokens', '16'],
  'generated content': ['generate', 'Hi', '-m', 'm'],
  'a function call': ['respond', 'sandbox:call', '--tools', aFunction, '--json'],
  'an answer of a schema': ['respond', 'Hi', '--schema', schema],
  'a background response': ['respond', 'Hi', '--background'],
  'images in base64': ['image', 'create', ...hill, '-n', '2'],
  'images by address': ['image', 'create', ...hill, ...byAddress],
  'streamed images': ['image', 'create', ...hill, '--stream', '--partial-images', '1', '--jsonl'],
  'an edited image': ['image', 'edit', ...hill, '--image', 'a.png'],
  'a video': ['video', 'generate', ...film],
  'a remixed video': ['video', 'remix', 'video_sandbox_source', ...film],
  'a status': ['video', 'status', 'video_sandbox_source', '--json'],
  'the models': ['models', '--json'],
}

type Answer = (request: IncomingMessage, body: Buffer, response: ServerResponse) => void | Promise<void>

/** A local gateway for one call. */
export async function serve(answer: Answer) {
  const server = createServer((request, response) => {
    buffer(request)
      .then((body) => answer(request, body, response))
      // The client has gone.
      .catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The replies that a call of the program gets from the sandbox, in order. */
export async function goldenReplies(call: (url: string) => Promise<unknown>): Promise<GoldenReply[]> {
  // Half a minute between any two looks at the time: a job is done soon.
  let looks = 0
  const now = () => systemClock.now() + 30_000 * looks++
  const sandbox = await runningSandbox({ clock: { ...systemClock, now } })
  const replies: GoldenReply[] = []
  const relay = await serve(async ({ method = 'GET', url = '/', headers }, body, response) => {
    const { host: _, connection: __, 'content-length': ___, ...sent } = headers
    const reply = await fetch(sandbox.url + url, {
      method,
      headers: sent as Record<string, string>,
      ...(body.length > 0 && { body: new Uint8Array(body) }),
    })
    const text = Buffer.from(await reply.arrayBuffer()).toString('latin1')
    const golden = {
      status: reply.status,
      type: reply.headers.get('content-type') ?? '',
      body: Buffer.from(text.replaceAll(sandbox.url, '{origin}'), 'latin1'),
    }
    replies.push(golden)
    play(golden, relay.url, response)
  })
  await call(relay.url)
  await relay.close()
  return replies
}

/** Answers with a golden reply, which came from this address. */
export function play({ status, type, body }: GoldenReply, url: string, response: ServerResponse): void {
  response.writeHead(status, { 'content-type': type, connection: 'close' })
  response.end(Buffer.from(body.toString('latin1').replaceAll('{origin}', url), 'latin1'))
}
