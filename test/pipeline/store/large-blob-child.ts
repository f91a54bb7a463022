// Puts FILE into the store in the bucket `shelf`, fetches it into TARGET, and prints how much its memory has grown at most
// meanwhile, in MiB: node large-blob-child.ts FILE SHA256 TARGET
import process from 'node:process'
import { systemClock } from '../../../src/context.ts'
import { openSharedStore } from '../../../src/pipeline/store/shared-store.ts'
import { testContext } from '../../support/test-context.ts'

Object.assign(globalThis, { __VERSION__: '0.0.0' })
const [path = '', sha256 = '', target = ''] = process.argv.slice(2)
const context = { ...testContext({ env: process.env }), clock: systemClock }
const store = await openSharedStore(context, 's3://shelf', { connection: {}, allowHttp: false })
const before = process.memoryUsage.rss()
let most = before
setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 10).unref()
await store.put(path, sha256)
const isThere = await store.fetch(sha256, target)
process.stdout.write(JSON.stringify({ isThere, memory: (most - before) / 2 ** 20 }))
