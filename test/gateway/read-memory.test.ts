import { setImmediate } from 'node:timers/promises'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { exchange, type Reply } from '../../src/gateway/exchange.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { canMakeCertificates, makeCertificate } from '../support/certificate.ts'
import { localServer, type LocalServerOptions } from '../support/local-server.ts'
import { end, head, readAll, sse, write, type ServerReply } from '../support/server-replies.ts'
import { runs } from '../support/sample.ts'

type Tls = NonNullable<LocalServerOptions['tls']>

/** How long a reader takes over a chunk before it looks at it. */
type Delay = 'none' | 'microtasks' | 'turn' | 'pause'

const delays: Readonly<Record<Delay, () => Promise<unknown> | undefined>> = {
  none: () => undefined,
  microtasks: () => Promise.resolve().then(() => Promise.resolve()),
  turn: () => setImmediate(),
  async pause() {
    for (let turns = 0; turns < 20; turns++) await setImmediate()
  },
}

/** Bytes of which every group of four tells its place, so that nothing can stand in for anything else. */
function numbered(length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length + 3)
  for (let at = 0; at < length; at += 4) bytes.writeUInt32LE(Math.imul(at, 2_654_435_761) >>> 0, at)
  return bytes.subarray(0, length)
}

async function open(reply: ServerReply, tls?: Tls): Promise<Reply> {
  const server = await localServer([reply], tls === undefined ? {} : { tls })
  return exchange(
    { method: 'GET', url: new URL(server.url), headers: {} },
    {
      clock: fakeClock(),
      limits: { connect: undefined, firstByte: undefined, idle: undefined },
      signal: new AbortController().signal,
      ...(tls === undefined ? {} : { ca: tls.cert }),
    },
  )
}

/** Looks at each chunk only after a delay, as late as the promise of `Reply.body` allows. */
async function readSlowly({ body }: Reply, pattern: readonly Delay[]): Promise<Buffer> {
  const copies: Buffer[] = []
  let at = 0
  for await (const bytes of body) {
    await delays[pattern[at++ % pattern.length]!]()
    copies.push(Buffer.from(bytes))
  }
  return Buffer.concat(copies)
}

const size = fc.oneof(
  fc.integer({ min: 1, max: 40 }),
  fc.integer({ min: 1, max: 20_000 }),
  fc.constantFrom(4_095, 4_096, 4_097, 65_535, 65_536, 65_537, 300_000),
)
const sizes = fc.array(size, { minLength: 1, maxLength: 12 })
const delay = fc.constantFrom<Delay>('none', 'microtasks', 'turn', 'pause')
const pattern = fc.array(delay, { minLength: 1, maxLength: 6 })

async function arrivesWhole(numRuns: number, tls?: Tls): Promise<void> {
  await fc.assert(
    fc.asyncProperty(sizes, pattern, fc.boolean(), async (lengths, waits, isChunked) => {
      const content = numbered(lengths.reduce((sum, length) => sum + length))
      let at = 0
      const pieces = lengths.map((length) => content.subarray(at, (at += length)))
      const reply = isChunked
        ? sse(pieces)
        : [readAll, write(head(200, { 'content-length': String(at) })), ...pieces.map(write), end]
      const received = await readSlowly(await open(reply, tls), waits)
      // Comparing as buffers: a failure would otherwise print megabytes.
      expect(received.length).toBe(content.length)
      expect(received.equals(content)).toBe(true)
    }),
    runs(numRuns),
  )
}

test('whatever the writes and the reader’s delays, the bytes that come are those that were sent', async () => {
  await expect(arrivesWhole(100)).resolves.toBeUndefined()
})

test('so they are over TLS (needs openssl)', { skip: !canMakeCertificates }, async () => {
  await expect(arrivesWhole(50, makeCertificate())).resolves.toBeUndefined()
})
