import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { createSink } from '../../src/context/standard-streams.ts'
import { OutputClosed } from '../../src/errors.ts'

async function endOf(code: string) {
  const stream = new PassThrough() as unknown as NodeJS.WriteStream
  const reasons: Error[] = []
  // A descriptor that is no file.
  const sink = createSink(stream, {
    descriptor: -1,
    onClosed: (reason) => reasons.push(reason),
    wasClosed: () => false,
  })
  stream.emit('error', Object.assign(new Error('write'), { code }))
  const error: unknown = await sink.drain().catch((error: unknown) => error)
  return { isClosed: error instanceof OutputClosed, told: reasons.length }
}

test('a reader that has gone is one: EPIPE everywhere, on Windows also EOF', async () => {
  expect(await endOf('EPIPE')).toEqual({ isClosed: true, told: 1 })
  expect(await endOf('EOF')).toEqual({ isClosed: true, told: 1 })
  expect(await endOf('EIO')).toEqual({ isClosed: false, told: 0 })
})
