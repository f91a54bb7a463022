import { describe, expect, test } from 'vitest'
import { forTest, queueServers } from '../../support/queue-servers.ts'
import { haltAt } from './frozen-worker.ts'

describe.each(queueServers)('on $name', ({ isThere, needs, start }) => {
  test.skipIf(!isThere)(`a worker that halts at its request pays once (needs ${needs})`, async () => {
    const { url } = await forTest(start())
    const [still, killed] = await Promise.all([
      haltAt(url, 'text', 'request to text', false),
      haltAt(url, 'video', 'request to create', true),
    ])
    // The outcome of one that stood still counts; of one that was killed nobody knows it.
    expect(still).toEqual({ step: 'request to text', exits: ['unknown', 'ok'], created: 1 })
    expect(killed).toEqual({ step: 'request to create', exits: ['unknown', 'unknown'], created: 0 })
  })
})
