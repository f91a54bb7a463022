import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { request, type ClientRequest, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Sandbox } from '../../src/sandbox/start-sandbox.ts'
import { until } from '../support/running-sandbox.ts'

const head = 'Host: 127.0.0.1\r\nAuthorization: Bearer x\r\n'
const post = `POST /v1/responses HTTP/1.1\r\n${head}Content-Length: 14\r\n`
const form = `POST /v1/images/edits HTTP/1.1\r\n${head}Content-Length: 1000\r\nContent-Type: multipart/form-data; boundary=b\r\n`

/** What a client sends before it sends nothing more. */
const beginnings: readonly string[] = [
  '',
  'POST',
  'POST /v1/responses HTTP/1.1\r\nHost: 127',
  post,
  `${post}\r\n`,
  `${post}\r\n{"input":`,
  `POST /v1/responses HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\ne\r\n{"in`,
  `${form}\r\n--b\r\nContent-Disposition: form-data; na`,
  `${form}\r\n--b\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\n\r\n\x89PNG`,
]

/** Clients that stop in the middle of a request, in all its parts, and stay. */
export async function crowdOf(sandbox: Sandbox, count: number): Promise<readonly Socket[]> {
  const { hostname, port } = new URL(sandbox.url)
  const sockets = Array.from({ length: count }, () => connect(Number(port), hostname))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  await Promise.all(
    sockets.map(async (socket, at) => {
      await once(socket, 'connect')
      socket.on('error', () => {})
      socket.write(beginnings[at % beginnings.length]!, 'latin1')
    }),
  )
  return sockets
}

/** Sends JSON, or what there is of it, on a connection of its own. */
function send(sandbox: Sandbox, path: string, body: string, headers: object = {}): ClientRequest {
  const asked = request(`${sandbox.url}${path}`, {
    method: 'POST',
    agent: false,
    headers: { authorization: 'Bearer x', ...headers },
  })
  asked.on('error', () => {})
  asked.write(body)
  return asked
}

const streaming = '/v1beta/models/m:streamGenerateContent?alt=sse'
const formType = 'multipart/form-data; boundary=b'
const contents = '{"contents":[{"parts":[{"text":"sandbox:1000-words"}]}]}'
/** Replies that go on for long, and requests that do. */
const endless = [
  (sandbox: Sandbox) => send(sandbox, '/v1/responses', '{"input":"sandbox:1000-words","stream":true}').end(),
  (sandbox: Sandbox) => send(sandbox, streaming, contents, { 'idempotency-key': 'a' }).end(),
  (sandbox: Sandbox) => send(sandbox, '/v1/responses', '{"input":', { 'content-length': 1_000 }),
  (sandbox: Sandbox) => send(sandbox, '/v1/images/edits', '--b\r\n', { 'content-type': formType }),
]

/** Clients that go away in the middle, by turns in each of these ways, so many at a time. */
export async function desertersOf(sandbox: Sandbox, count: number): Promise<void> {
  const atOnce = 20
  for (let from = 0; from < count; from += atOnce) {
    const replied = () => sandbox.requests().filter(({ repliedAt }) => repliedAt !== undefined).length
    const known = replied()
    const asked = Array.from({ length: atOnce }, (_, at) => endless[at % endless.length]!(sandbox))
    const [streams, uploads] = [asked.filter((_, at) => at % 4 < 2), asked.filter((_, at) => at % 4 >= 2)]
    await Promise.all(streams.map(async (one) => ((await once(one, 'response')) as [Socket])[0].resume()))
    await until(() => sandbox.requests().length >= from + atOnce)
    for (const one of [...streams, ...uploads]) one.destroy()
    await until(() => replied() === known + atOnce)
  }
}

/** The HTTP server of the next request in this process. */
export async function serverOf(ask: () => Promise<unknown>): Promise<Server> {
  const started = channel('http.server.request.start')
  let found: Server | undefined
  const see = (message: unknown) => (found = (message as { readonly server: Server }).server)
  started.subscribe(see)
  await ask().finally(() => started.unsubscribe(see))
  return found!
}
