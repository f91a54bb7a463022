import { expect, test } from 'vitest'
import { systemClock } from '../../../src/context.ts'
import { openDocuments } from '../../../src/pipeline/queue/open-documents.ts'
import { postgresConfig, postgresPool, transaction } from '../../../src/pipeline/queue/postgres-connection.ts'
import { readStatement } from '../../../src/pipeline/queue/postgres-layout.ts'
import { readQueueUrl } from '../../../src/pipeline/queue/queue-url.ts'
import { forTest, hasPostgres, startPostgres } from '../../support/queue-servers.ts'

// It is thrown out after five seconds.
test.skipIf(!hasPostgres)(
  'a client that stands still with a document locked does not stop the others (needs postgresql)',
  async () => {
    const server = await forTest(startPostgres())
    const url = readQueueUrl(server.url)
    const store = await openDocuments(url, 'test', systemClock)
    const pool = postgresPool(postgresConfig(url), 1)
    const isLocked = Promise.withResolvers<void>()
    const goesOn = Promise.withResolvers<void>()
    const frozen = transaction(pool, url, async (ask) => {
      await ask({ text: readStatement('test', { isLocked: true }), values: [['a']] })
      isLocked.resolve()
      await goesOn.promise
      return true
    })
    await isLocked.promise
    await store.transact(['a'], () => ({ documents: new Map([['a', { by: 'another' }]]), result: undefined }))
    goesOn.resolve()
    // What it had under way is not kept when it goes on.
    await expect(frozen).rejects.toMatchObject({ isCertain: false })
    expect(await store.read(['a'])).toEqual(new Map([['a', { by: 'another' }]]))
    await Promise.all([store.close(), pool.end()])
  },
)
