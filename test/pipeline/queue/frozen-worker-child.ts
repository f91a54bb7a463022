/** A worker that stops itself with SIGSTOP before its Nth step to the outside, or the one of a name, and tells its parent before. */
import { join } from 'node:path'
import { Job, Queue, Worker as Receiver } from 'bullmq'
import { systemClock } from '../../../src/context.ts'
import { QueueServer } from '../../../src/pipeline/queue/queue-server.ts'
import { readQueueUrl } from '../../../src/pipeline/queue/queue-url.ts'
import { runWorker } from '../../../src/pipeline/queue/worker/worker.ts'
import { openFolderStore } from '../../../src/pipeline/store/shared-store.ts'
import { CallBook } from '../../../src/files/calls/call-book.ts'
import { createSpending } from '../../../src/operations/spending.ts'
import { testContext } from '../../support/test-context.ts'
import { locks } from './queue-bench.ts'

const [url = '', gateway = '', storeFolder = '', machine = '', at] = process.argv.slice(2)
// As the build defines it.
Object.assign(globalThis, { __VERSION__: '0.0.0' })
let hasBegun = false
let count = 0

function step(name: string): void {
  if (!hasBegun || (++count !== Number(at) && name !== at)) return
  process.send!({ frozen: name })
  process.kill(process.pid, 'SIGSTOP')
}

/** Each call of a method is a step. */
function steps(object: object, names: readonly string[]): void {
  const methods = object as Record<string, (...args: unknown[]) => unknown>
  for (const name of names) {
    const method = methods[name]!
    methods[name] = function (this: unknown, ...args: unknown[]) {
      step(name)
      return method.apply(this, args)
    }
  }
}

steps(Queue.prototype, ['add', 'getJob', 'remove', 'rateLimit'])
steps(Job.prototype, ['updateData', 'moveToDelayed', 'moveToCompleted', 'changePriority'])
const { processJob } = Receiver.prototype
Receiver.prototype.processJob = async function (...args) {
  step('delivery')
  return await processJob.apply(this, args).finally(() => process.send!('over'))
}

const options = { isSandbox: false, gateway: new URL(gateway), clock: systemClock }
const server = await QueueServer.open(readQueueUrl(url), options)
const store = await openFolderStore(testContext({ cwd: storeFolder }), storeFolder)
steps(store, ['put', 'fetch'])
const stop = new AbortController()
process.on('disconnect', () => stop.abort(new Error('The test is over.')))
await runWorker({
  context: { ...testContext({ cwd: machine }), clock: systemClock, signal: stop.signal },
  server,
  store,
  shared: {
    prices: {},
    families: {},
    profile: 'default',
    pollIntervalS: 0.1,
    rescueFolder: undefined,
    newSpending() {
      const book = new CallBook(machine, systemClock)
      return createSpending({ book, prices: {}, isSandbox: false, limits: undefined, warn() {} })
    },
    gateway: {
      baseUrl: new URL(gateway),
      key: 'test-key-0123456789',
      clock: systemClock,
      signal: stop.signal,
      policy: { mode: 'safe', maxRetries: 2, idempotencyHonoured: false },
      limits: { connect: 10_000, firstByte: 60_000, idle: 60_000, progress: 60_000, total: undefined },
      onRetry() {},
      beforeSend: async (kind) => step(`request to ${kind}`),
    },
  },
  redactor: { text: (text) => text, document: (json) => json },
  isSandbox: false,
  folder: join(machine, 'workers'),
  options: { places: { text: 1, image: 1, video: 1 }, rate: null, graceS: 0, untilEmpty: false },
  listener: { event() {} },
  locks,
  onStart() {
    hasBegun = true
    process.send!('begun')
  },
})
process.exit()
