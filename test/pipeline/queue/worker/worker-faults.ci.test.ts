import { expect, test } from 'vitest'
import { systemClock } from '../../../../src/context.ts'
import { ModelgateError, Interrupted } from '../../../../src/errors.ts'
import { openIntents } from '../../../../src/pipeline/queue/intents.ts'
import { filesField, instanceOf, textField } from '../../../support/pipeline-task.ts'
import { runningSandbox, until } from '../../../support/running-sandbox.ts'
import { fastClock } from '../../../support/fast-clock.ts'
import { pngBytes } from '../../../support/image-bytes.ts'
import { workerBench } from './worker-bench.ts'

const text = (id = 'text') =>
  instanceOf({ id, command: 'generate', fields: { prompt: textField(`Say ${id}`) }, output: `${id}.txt` })
const video = (id = 'video') =>
  instanceOf({ id, command: 'video generate', fields: { prompt: textField(`A ${id}`) }, output: `${id}.mp4` })
const many = (count: number, make = text) => Array.from({ length: count }, (_, at) => make(`t${at}`))
/** A server that is away answers no transaction, and does none. */
const unreachable = () =>
  new ModelgateError('notSent', 'queue_unreachable', 'The queue cannot be reached.', { phase: 'connect' })

test('a worker whose key is refused gives the task back, and ends with 3', async () => {
  const bench = await workerBench()
  const refusing = await runningSandbox({
    faults: [{ endpoint: 'generate-content', action: 'status', status: 401 }],
  })
  const [key] = await bench.submit([text()])
  const worker = bench.work(refusing.url)
  expect(await worker.ended).toMatchObject({ exit: 'key' })
  expect(worker.outcomes()).toEqual(['returned'])
  expect(bench.task(key!)).toMatchObject({ state: 'waiting', isCounted: false, place: null })
  const { url, created } = await runningSandbox()
  const other = bench.work(url)
  await bench.final()
  await other.stop()
  expect(bench.states()).toEqual(['done'])
  expect(created()).toBe(1)
})

test('a worker that reaches a limit of its own ends with 15, and others do the rest', async () => {
  const bench = await workerBench()
  const { url, created } = await runningSandbox()
  await bench.submit(many(5))
  const limited = bench.work(url, { places: { text: 1, image: 1, video: 1 } }, { maxCreates: 2 })
  expect(await limited.ended).toMatchObject({ exit: 'limit' })
  expect(bench.states().filter((state) => state === 'done')).toHaveLength(2)
  const other = bench.work(url)
  await bench.final()
  await other.stop()
  expect(created()).toBe(5)
  expect(bench.record()).toMatchObject({ used: { creates: 5 }, inFlight: { text: 0 } })
})

test('waiting for videos holds no worker: one place, twenty jobs at a time', async () => {
  const bench = await workerBench()
  let most = 0
  const { url, created } = await runningSandbox()
  await bench.submit(many(20, video))
  const worker = bench.work(url, { places: { text: 1, image: 1, video: 1 } })
  await until(() => {
    most = Math.max(most, bench.states().filter((state) => state === 'started').length)
    return bench.states().every((state) => state === 'done')
  })
  await worker.stop()
  // A worker that waited would have one at a time.
  expect(most).toBeGreaterThan(1)
  expect(created()).toBe(20)
  expect(bench.left()).toEqual([])
})

test('a look-up that meets a bug ends its worker, and no other', async () => {
  const bench = await workerBench()
  const { url, created } = await runningSandbox()
  const [key] = await bench.submit([video()])
  const worker = bench.work(
    url,
    {},
    {
      gateway: {
        async beforeSend(kind) {
          if (kind === 'read') throw new TypeError('x is undefined')
        },
      },
    },
  )
  expect(await worker.ended).toMatchObject({ exit: 'bug' })
  expect(bench.task(key!)).toMatchObject({ state: 'failed', job: { kind: 'operation' } })
  expect(created()).toBe(1)
})

test('inputs that meet a bug end their task and its worker, and no other', async () => {
  const bench = await workerBench()
  const { url, created } = await runningSandbox()
  bench.write('cup.png', pngBytes({ width: 64, height: 64 }))
  const fields = { image: filesField('cup.png'), prompt: textField('Red') }
  const [key] = await bench.submit([
    instanceOf({ command: 'image edit', fields, output: 'red.png', lane: 'image' }),
  ])
  const store = {
    ...bench.store,
    async fetch(): Promise<boolean> {
      throw new TypeError('x is undefined')
    },
  }
  expect(await bench.work(url, {}, { store }).ended).toMatchObject({ exit: 'bug' })
  expect(bench.task(key!)).toMatchObject({ state: 'failed', isCounted: false, place: null })
  expect([created(), bench.left()]).toEqual([0, []])
})

test('while the server of the queue is away, what is generated goes on, and is written down afterwards', async () => {
  const bench = await workerBench()
  const { url, created } = await runningSandbox()
  await bench.submit(many(8))
  let isAway = false
  let failures = 0
  const worker = bench.work(
    url,
    {},
    {
      documents: {
        ...bench.documents,
        async read(names) {
          if (isAway) throw unreachable()
          return await bench.documents.read(names)
        },
        async transact(names, change) {
          if (isAway && ++failures > 0) throw unreachable()
          return await bench.documents.transact(names, change)
        },
      },
      gateway: { onSend: () => void (isAway = true) },
    },
  )
  await until(() => created() > 0 && failures > 20)
  expect(bench.states()).not.toContain('done')
  isAway = false
  const back = setInterval(() => (isAway = false), 20)
  await bench.final()
  clearInterval(back)
  await worker.stop()
  expect(bench.states()).toEqual(many(8).map(() => 'done'))
  expect(created()).toBe(8)
  expect(worker.warnings()).toEqual(['The queue cannot be reached. It is tried again.'])
})

test('a worker that is stopped while the server is away leaves its results for the next one', async () => {
  const bench = await workerBench()
  const { url, created } = await runningSandbox()
  await bench.submit([text()])
  let isAway = false
  const worker = bench.work(
    url,
    { graceS: 1 },
    {
      documents: {
        ...bench.documents,
        async transact(names, change) {
          if (isAway) throw unreachable()
          return await bench.documents.transact(names, change)
        },
      },
      gateway: { onSend: () => void (isAway = true) },
      processes: { own: 2 ** 30, isRunning: () => false },
    },
  )
  await until(() => worker.warnings().length > 0)
  await worker.stop()
  expect(bench.states()).toEqual(['sent'])
  expect(bench.left()).toHaveLength(1)
  const next = bench.work(url)
  await bench.final()
  await next.stop()
  expect(bench.states()).toEqual(['done'])
  expect(created()).toBe(1)
  expect(bench.left()).toEqual([])
})

test('a message of another version is left for another worker', async () => {
  const bench = await workerBench()
  const { url } = await runningSandbox()
  const [key] = await bench.submit([text()], { more: { message: { version: 99 } } })
  const worker = bench.work(url)
  await until(() => worker.warnings().length > 0)
  await worker.stop()
  expect(bench.task(key!)).toMatchObject({ state: 'waiting' })
  expect(bench.delivery.log).toContain('text again 60000')
  expect(worker.warnings()[0]).toContain('version 99')
})

test('a damaged message fails, and costs nothing', async () => {
  const bench = await workerBench()
  const { url, created } = await runningSandbox()
  const [key] = await bench.submit([text()], { more: { message: { version: 1, id: 5 } } })
  const worker = bench.work(url)
  await bench.final()
  await worker.stop()
  expect(bench.task(key!)).toMatchObject({ state: 'failed', isCounted: false })
  expect(created()).toBe(0)
})

test('a signal lets what is in flight end, and gives back what waits', async () => {
  const bench = await workerBench({ limits: { lanes: { text: 1, image: 1, video: 1 } } })
  const { url, created } = await runningSandbox()
  await bench.submit(many(6))
  const sent = Promise.withResolvers<void>()
  const worker = bench.work(url, { graceS: 600 }, { gateway: { onSend: () => sent.resolve() } })
  await sent.promise
  worker.abort(new Interrupted('interrupt'))
  expect(await worker.ended).toMatchObject({ exit: 'interrupt' })
  const done = bench.states().filter((state) => state === 'done').length
  expect(bench.states().filter((state) => state === 'waiting')).toHaveLength(6 - done)
  expect(created()).toBe(done)
  expect(done).toBeGreaterThan(0)
})

test('a worker that was thought dead brings its result all the same', async () => {
  const bench = await workerBench()
  const { url, created } = await runningSandbox()
  const [key] = await bench.submit([text()])
  const frozen = Promise.withResolvers<void>()
  const thawed = Promise.withResolvers<void>()
  const one = bench.work(
    url,
    {},
    {
      store: {
        ...bench.store,
        async put(path, sha256) {
          frozen.resolve()
          await thawed.promise
          await bench.store.put(path, sha256)
        },
      },
    },
  )
  await frozen.promise
  one.die()
  bench.step(61_000)
  const other = bench.work(url)
  await bench.final()
  expect(bench.states()).toEqual(['unknown'])
  thawed.resolve()
  await until(() => bench.states()[0] === 'done')
  expect(bench.task(key!).outcome?.kind).toBe('result')
  expect(created()).toBe(1)
  await other.stop()
  await one.stop()
})

test('tasks that wait for the place of a dead worker do not keep its task from being taken over', async () => {
  const bench = await workerBench({ limits: { lanes: { text: 1, image: 1, video: 1 } } })
  const { url, created } = await runningSandbox()
  const [key] = await bench.submit([text('first')])
  const { attempt } = bench.task(key!)
  const options = { rate: null, isSentAgain: true, random: () => 0.5, redact: (json: string) => json }
  const dead = openIntents(bench.documents, { worker: 'dead', ...options })
  expect(await dead.begin({ key: key!, attempt })).toMatchObject({ kind: 'send' })
  await bench.submit(many(3), { priority: 2 })
  bench.step(61_000)
  const clock = { ...bench.clock, monotonic: () => systemClock.monotonic() * 100 }
  const worker = bench.work(url, { places: { text: 2, image: 1, video: 1 }, isSentAgain: true }, { clock })
  await bench.final()
  await worker.stop()
  expect(bench.states()).toEqual(['done', 'done', 'done', 'done'])
  expect(created()).toBe(4)
})

test('it ends by itself when nothing is left', async () => {
  const bench = await workerBench()
  const { url } = await runningSandbox({ clock: fastClock })
  await bench.submit([text(), video()])
  const clock = { ...bench.clock, monotonic: () => systemClock.monotonic() * 100 }
  const worker = bench.work(url, { untilEmpty: true }, { clock })
  expect(await worker.ended).toBe(undefined)
  expect(bench.states()).toEqual(['done', 'done'])
})
