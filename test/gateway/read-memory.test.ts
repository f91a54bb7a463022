import { setImmediate } from 'node:timers/promises'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { exchange, type Reply } from '../../src/gateway/exchange.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { canMakeCertificates, makeCertificate } from '../support/certificate.ts'
import { localServer, type LocalServerOptions } from '../support/local-server.ts'
import { chunk, end, head, hold, readAll, write, type ServerReply } from '../support/server-replies.ts'
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

const sizes = fc.array(
  fc.oneof(
    fc.integer({ min: 1, max: 40 }),
    fc.integer({ min: 1, max: 20_000 }),
    fc.constantFrom(4_095, 4_096, 4_097, 65_535, 65_536, 65_537, 300_000),
  ),
  { minLength: 1, maxLength: 12 },
)
const pattern = fc.array(fc.constantFrom<Delay>('none', 'microtasks', 'turn', 'pause'), {
  minLength: 1,
  maxLength: 6,
})

async function arrivesWhole(numRuns: number, tls?: Tls): Promise<void> {
  await fc.assert(
    fc.asyncProperty(sizes, pattern, fc.boolean(), async (lengths, delay, isChunked) => {
      const content = numbered(lengths.reduce((sum, length) => sum + length))
      let at = 0
      const pieces = lengths.map((length) => content.subarray(at, (at += length)))
      const reply: ServerReply = isChunked
        ? [
            readAll,
            write(head(200, { 'transfer-encoding': 'chunked' })),
            ...pieces.map((piece) => write(chunk(piece))),
            write('0\r\n\r\n'),
            end,
          ]
        : [readAll, write(head(200, { 'content-length': String(at) })), ...pieces.map(write), end]
      const received = await readSlowly(await open(reply, tls), delay)
      // Comparing as buffers: a failure would otherwise print megabytes.
      expect(received.length).toBe(content.length)
      expect(received.equals(content)).toBe(true)
    }),
    runs(numRuns),
  )
}

/** How many blocks of memory the chunks of so many writes came in, when each is read before the next is written. */
async function blocksOf(writes: number, tls?: Tls): Promise<number> {
  const gates = Array.from({ length: writes }, () => Promise.withResolvers<void>())
  const piece = numbered(10_000)
  const reply: ServerReply = [
    readAll,
    write(head(200, { 'content-length': String(writes * piece.length) })),
    ...gates.flatMap(({ promise }) => [hold(promise), write(piece)]),
    end,
  ]
  const { body } = await open(reply, tls)
  const blocks = new Set<ArrayBufferLike>()
  let received = 0
  gates[0]!.resolve()
  for await (const bytes of body) {
    blocks.add(bytes.buffer)
    received += bytes.length
    if (received % piece.length === 0) gates[received / piece.length]?.resolve()
  }
  expect(received).toBe(writes * piece.length)
  return blocks.size
}

/** How many blocks of memory a long body came in, when each chunk is read some turns after it has come. */
async function blocksOfLong(bytes: number): Promise<number> {
  const content = numbered(bytes)
  const reply: ServerReply = [
    readAll,
    write(head(200, { 'content-length': String(bytes) })),
    write(content),
    end,
  ]
  const { body } = await open(reply)
  const blocks = new Set<ArrayBufferLike>()
  let at = 0
  for await (const chunkOfBody of body) {
    await delays.pause()
    blocks.add(chunkOfBody.buffer)
    const isRight = content.subarray(at, (at += chunkOfBody.length)).equals(chunkOfBody)
    if (!isRight) throw new Error(`other bytes than were sent, before ${at}`)
  }
  expect(at).toBe(bytes)
  return blocks.size
}

describe('plain', () => {
  test('whatever the writes and the reader’s delays, the bytes that come are those that were sent', async () => {
    await expect(arrivesWhole(100)).resolves.toBeUndefined()
  })

  test('memory is used again when the reader keeps up', async () => {
    expect(await blocksOf(100)).toBeLessThanOrEqual(4)
  })

  test('memory is used again when the reader lags behind', async () => {
    // More than twice what waits for the reader at most.
    expect(await blocksOfLong(20_000_000)).toBeLessThanOrEqual(24)
  })
})

describe('TLS (needs openssl)', { skip: !canMakeCertificates }, () => {
  test('whatever the writes and the reader’s delays, the bytes that come are those that were sent', async () => {
    await expect(arrivesWhole(50, makeCertificate())).resolves.toBeUndefined()
  })

  test('memory is used again when the reader keeps up', async () => {
    expect(await blocksOf(100, makeCertificate())).toBeLessThanOrEqual(4)
  })
})
