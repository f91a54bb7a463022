import type { IncomingMessage } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { readJsonBody } from '../../src/sandbox/http/read-body.ts'
import type { Exchange } from '../../src/sandbox/sandbox.ts'

const MiB = 1024 * 1024

/** A body whose text is given piece by piece; it counts the bytes that have been asked for. */
function body(mebibytes: number, goOn: Promise<void> = Promise.resolve()) {
  const counted = { mebibytes: 0 }
  async function* pieces() {
    yield Buffer.from('{"input":"')
    for (let sent = 0; sent < mebibytes; sent++) {
      counted.mebibytes++
      yield Buffer.alloc(MiB, 'x')
    }
    await goOn
    yield Buffer.from('"}')
  }
  return { incoming: Object.assign(pieces(), { headers: {} }) as unknown as IncomingMessage, counted }
}

/** Reads a body as part of a request to a sandbox, until its answer. */
async function read(incoming: IncomingMessage, sandbox: object) {
  const exchange = { incoming, sandbox, record: {}, size: 0, release() {} } as unknown as Exchange
  try {
    await readJsonBody(exchange)
    return exchange
  } finally {
    exchange.release()
  }
}

test('large bodies are read one at a time, in the order in which they come; small ones pass', async () => {
  const sandbox = { largeBodies: Promise.resolve() }
  const { promise, resolve } = Promise.withResolvers<void>()
  const [first, second, third] = [body(20, promise), body(20), body(20)]
  const [small] = [body(2)]
  const order: string[] = []
  const reading = [first, second, third].map(({ incoming }, index) =>
    read(incoming, sandbox).then(({ size }) => order.push(`${index} ${Math.floor(size / MiB)}`)),
  )
  expect((await read(small.incoming, sandbox)).size).toBe(2 * MiB + 12)
  for (let turns = 0; turns < 100; turns++) await turn()
  // All but the first one stop at 16 MiB.
  expect([first, second, third].map(({ counted }) => counted.mebibytes)).toEqual([20, 16, 16])
  expect(order).toEqual([])
  resolve()
  await Promise.all(reading)
  expect(order).toEqual(['0 20', '1 20', '2 20'])
})
