import { getEventListeners } from 'node:events'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openResources } from '../sandbox/open-resources.ts'
import { amount } from '../support/sample.ts'
import { runningSandbox, until } from '../support/running-sandbox.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { longChat } from './long-chat.ts'
import { mixedCalls, mixedFaults } from './mixed-calls.ts'
import { textStyles, type StyleName } from './text-styles.ts'

const calls = amount(1_500, 10_000)

/** Of this process: handles that stay open, by kind, and files. */
function held() {
  const { TCPSocketWrap = 0, Timeout = 0, PipeWrap = 0, ProcessWrap = 0 } = openResources()
  const files = process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0
  return { sockets: TCPSocketWrap, timers: Timeout, pipes: PipeWrap, processes: ProcessWrap, files }
}

test(`${calls} calls in one process leave no socket, timer, listener or file`, async () => {
  const sandbox = await runningSandbox({ faults: mixedFaults })
  const mixed = mixedCalls(sandbox.url, temporaryFolder())
  const listeners = () => ({
    signal: getEventListeners(mixed.signal, 'abort').length,
    exit: process.listenerCount('exit'),
    warning: process.listenerCount('warning'),
    uncaughtException: process.listenerCount('uncaughtException'),
    unhandledRejection: process.listenerCount('unhandledRejection'),
    SIGINT: process.listenerCount('SIGINT'),
  })
  // By then everything is loaded.
  await mixed.make(300)
  const before = { ...held(), ...listeners() }
  await mixed.make(calls - 300)
  // The other end of a connection hears of its end a little later.
  await until(() => held().sockets <= before.sockets)
  const after = { ...held(), ...listeners() }
  for (const [what, count] of Object.entries(after))
    expect([what, count <= before[what as keyof typeof before] + 1]).toEqual([what, true])
  expect(listeners().signal).toBe(0)
  expect(mixed.pendingTimers).toBe(0)
}, 600_000)

const turns = 500

/** A gateway that answers `Answer 1`, `Answer 2`, … and what it was sent. */
async function countingGateway(name: StyleName) {
  const style = textStyles[name]
  const bodies: Record<string, unknown>[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request.setEncoding('utf8')) body += piece as string
    const number = bodies.push(JSON.parse(body) as Record<string, unknown>)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(style.delta(`Answer ${number}`) + style.end.replace('resp_1', `resp_${number}`))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies }
}

const last = (contents: unknown) => (contents as unknown[]).slice(-3)
const said = (role: string, text: string) => ({ role, parts: [{ text }] })

test.for<StyleName>(['generate', 'respond'])(
  `a chat of ${turns} turns with %s sends what it should, and leaves nothing behind`,
  { timeout: 300_000 },
  async (style) => {
    const gateway = await countingGateway(style)
    const folder = temporaryFolder()
    const { signal } = new AbortController()
    const env = {
      MODELGATE_BASE_URL: gateway.url,
      MODELGATE_API_KEY: 'some-key-0123',
      MODELGATE_HISTORY: 'full',
      MODELGATE_STATE_DIR: join(folder, 'state'),
    }
    const before = held()
    const words = ['--style', style, '-m', 'some-model']
    const { code, out } = await longChat(words, turns, { folder, env, signal })
    expect([code, gateway.bodies.length]).toEqual([0, turns])
    expect(out).toContain('Answer 500')
    const sent = gateway.bodies.map((body) => {
      const { previous_response_id: previous, input, contents } = body
      return style === 'respond' ? [previous, input] : [(contents as unknown[]).length, ...last(contents)]
    })
    const expected = Array.from({ length: turns }, (_, at) => {
      if (style === 'respond') return [at === 0 ? undefined : `resp_${at}`, `Turn ${at + 1}`]
      const before = at === 0 ? [] : [said('user', `Turn ${at}`), said('model', `Answer ${at}`)]
      return [2 * at + 1, ...before, said('user', `Turn ${at + 1}`)]
    })
    expect(sent).toEqual(expected)
    expect(getEventListeners(signal, 'abort')).toEqual([])
    await until(() => held().sockets <= before.sockets)
    expect(held().timers).toBeLessThanOrEqual(before.timers + 1)
  },
)
