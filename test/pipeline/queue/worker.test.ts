import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock, type Clock } from '../../../src/context.ts'
import { Interrupted } from '../../../src/errors.ts'
import { decodeTask } from '../../../src/pipeline/queue/message.ts'
import { keepFiles, type Worker } from '../../../src/pipeline/queue/worker/worker-call.ts'
import { pngBytes } from '../../support/image-bytes.ts'
import { localServer } from '../../support/local-server.ts'
import { json } from '../../support/server-replies.ts'
import { withFsHook } from '../../support/fs-faults.ts'
import { filesField, instanceOf, textField } from '../../support/pipeline-task.ts'
import { writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { runningSandbox, until } from '../../support/running-sandbox.ts'
import { memoryWorkers } from './memory-workers.ts'

/** Real time, but for waits, which take a hundredth of it. */
const clock: Clock = {
  ...systemClock,
  monotonic: () => systemClock.monotonic() * 100,
  timer: (ms, callback, label) =>
    systemClock.timer(label !== 'sleep' ? ms : Math.min(ms, Math.max(5, ms / 100)), callback, label),
}

const text = (id = 'text') =>
  instanceOf({ id, command: 'generate', fields: { prompt: textField(`Say ${id}`) }, output: `${id}.txt` })
const video = (id = 'video') =>
  instanceOf({ id, command: 'video generate', fields: { prompt: textField(`A ${id}`) }, output: `${id}.mp4` })
/** A queue for workers, and a gateway. */
const workersOn = async () => ({ ...(await runningSandbox()), ...(await memoryWorkers(clock)) })
const ones = { text: 1, image: 1, video: 1 }

test('a worker whose key is refused gives the task back, and ends with 3', async () => {
  const bench = await memoryWorkers(clock)
  const id = await bench.submit(text())
  const { attempt } = bench.stateOf(id)
  const refusing = await runningSandbox({ faults: [{ action: 'status', status: 401, times: 1_000 }] })
  const worker = bench.work(refusing.url)
  expect(await worker.ended).toMatchObject({ exit: 'key' })
  expect(worker.outcomes()).toEqual(['returned'])
  // Anybody may win it now.
  expect(bench.stateOf(id).attempt).not.toBe(attempt)
  const { url, created } = await runningSandbox()
  bench.work(url)
  await until(() => bench.isOver(id))
  expect([bench.stateOf(id).outcome?.kind, created()]).toEqual(['result', 1])
})

test('a worker that reaches a limit of its own ends with 15, and others do the rest', async () => {
  const { url, created, ...bench } = await workersOn()
  const ids = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => bench.submit(text(name))))
  const limited = bench.work(url, { places: ones }, { maxCreates: 2 })
  expect(await limited.ended).toMatchObject({ exit: 'limit' })
  expect(ids.filter((id) => bench.isOver(id))).toHaveLength(2)
  bench.work(url)
  await until(() => ids.every((id) => bench.isOver(id)))
  expect(created()).toBe(5)
})

test('who finds the mark of another sends nothing', async () => {
  const { url, requests, ...bench } = await workersOn()
  const id = await bench.submit(text())
  await bench.queue.win(bench.stateOf(id).attempt, 'another')
  bench.work(url)
  await until(() => bench.isOver(id))
  expect([bench.stateOf(id).outcome, requests()]).toEqual([null, []])
})

test('waiting for videos holds no worker: one place, ten jobs at a time', async () => {
  const { url, created, ...bench } = await workersOn()
  const ids = await Promise.all(Array.from({ length: 10 }, (_, at) => bench.submit(video(`v${at}`))))
  let most = 0
  bench.work(url, { places: ones })
  await until(() => {
    const started = ids.filter((id) => bench.stateOf(id).job !== null && !bench.isOver(id))
    most = Math.max(most, started.length)
    return ids.every((id) => bench.isOver(id))
  })
  // A worker that waited would have one at a time.
  expect([most > 1, created()]).toEqual([true, 10])
})

test('a disk that has no place for a video ends its worker, and the next one fetches the video', async () => {
  const { url, created, ...bench } = await workersOn()
  const id = await bench.submit(video())
  const full = (name: string, path: string) =>
    name === 'mkdirSync' && bench.stateOf(id).job !== null && path.endsWith('made')
      ? Object.assign(new Error('injected'), { code: 'ENOSPC' })
      : undefined
  const ended = () => bench.work(url).ended
  expect(await withFsHook((_, call) => call(), ended, full)).toMatchObject({ code: 'no_space' })
  expect(bench.stateOf(id).outcome).toBeNull()
  bench.work(url)
  await until(() => bench.isOver(id))
  expect([bench.stateOf(id).outcome?.kind, created()]).toEqual(['result', 1])
})

test('inputs that are not in the store end their task, and nothing is sent', async () => {
  const { url, requests, ...bench } = await workersOn()
  bench.write('cup.png', pngBytes({ width: 64, height: 64 }))
  const fields = { image: filesField('cup.png'), prompt: textField('Red') }
  const id = await bench.submit(instanceOf({ command: 'image edit', fields, output: 'red.png' }))
  bench.work(url, {}, { store: { ...bench.store, fetch: async () => false } })
  await until(() => bench.isOver(id))
  expect(bench.stateOf(id).outcome).toMatchObject({ code: 'store_missing', exit: 'usage' })
  expect([requests(), bench.left().length]).toEqual([[], 1])
})

test("a mark whose answer was lost is the worker's own: it sends, once", async () => {
  const { url, created, ...bench } = await workersOn()
  const id = await bench.submit(text())
  const win = bench.queue.win.bind(bench.queue)
  let asked = 0
  bench.queue.win = async (attempt, who) => {
    const winner = await win(attempt, who)
    if (++asked === 1) throw new Error('Connection is closed.')
    return winner
  }
  bench.work(url)
  await until(() => bench.isOver(id))
  expect([bench.stateOf(id).outcome?.kind, created(), asked]).toEqual(['result', 1, 2])
})

test('what two failed attempts at one request have made is kept', async () => {
  const { machine } = await memoryWorkers(clock)
  const made = join(machine, 'made')
  const kept: string[] = []
  const warn = (text: string) => void kept.push(/ are kept in (.*)\.$/.exec(text)![1]!)
  const worker = { folder: machine, context: { ...testContext({ cwd: machine }), clock }, warn }
  for (const content of ['one', 'two']) {
    writeFiles(made, { 'cup.png': content })
    expect(await keepFiles(worker as unknown as Worker, made, 'key')).toBe(true)
  }
  expect(kept.map((folder) => readFileSync(join(folder, 'cup.png'), 'utf8'))).toEqual(['one', 'two'])
})

test('a bug ends the task and its worker, and no other worker', async () => {
  const { url, created, ...bench } = await workersOn()
  const broken = () => {
    throw new TypeError('a bug')
  }
  bench.write('cup.png', pngBytes({ width: 64, height: 64 }))
  const fields = { image: filesField('cup.png'), prompt: textField('Red') }
  const edit = await bench.submit(instanceOf({ command: 'image edit', fields, output: 'red.png' }))
  const fetching = bench.work(url, {}, { store: { ...bench.store, fetch: broken } })
  expect(await fetching.ended).toMatchObject({ exit: 'bug' })
  expect(bench.stateOf(edit).outcome).toMatchObject({ exit: 'bug', facts: { billed: 'no' } })
  const said = await bench.submit(text())
  const sending = bench.work(url, {}, { gateway: { onSend: broken } })
  expect(await sending.ended).toMatchObject({ exit: 'bug' })
  expect([bench.isOver(said), bench.stateOf(said).outcome?.kind]).toEqual([true, 'error'])
  const other = await bench.submit(text('other'))
  bench.work(url)
  await until(() => bench.isOver(other))
  expect([bench.stateOf(other).outcome?.kind, created()]).toEqual(['result', 1])
})

test('a job that one server of the gateway does not know yet is looked up again', async () => {
  const unknown = { endpoint: 'operation-lookup', action: 'status', status: 404, times: 1 } as const
  const sandbox = await runningSandbox({ faults: [unknown] })
  const bench = await memoryWorkers(clock)
  const id = await bench.submit(video())
  bench.work(sandbox.url)
  await until(() => bench.isOver(id))
  expect([bench.stateOf(id).outcome?.kind, sandbox.created()]).toEqual(['result', 1])
  expect(sandbox.firedFaults()).toHaveLength(1)
})

test('a key that the gateway gives back is not in the queue', async () => {
  const server = await localServer([
    json({ error: { message: 'Bad key test-key-0123456789.' } }, { status: 400 }),
  ])
  const bench = await memoryWorkers(clock)
  const id = await bench.submit(text())
  const hide = (said: string) => said.replaceAll('test-key-0123456789', '[hidden]')
  bench.work(server.url, {}, { redactor: { text: hide, document: hide } })
  await until(() => bench.isOver(id))
  const { state } = bench.queue.jobs.get(id)!.data
  expect(state).toContain('Bad key [hidden].')
  expect(state).not.toContain('test-key')
})

test('a message of another version is left for another worker, and of a damaged one nothing is known', async () => {
  const { url, requests, ...bench } = await workersOn()
  const [other, damaged] = [await bench.submit(text('other')), await bench.submit(text('damaged'))]
  bench.change(other, (message) => ({ ...message, version: 99 }))
  bench.change(damaged, (message) => ({ ...message, count: 'many' }))
  const worker = bench.work(url)
  await until(() => bench.isOver(damaged) && worker.warnings().length > 0)
  expect(worker.warnings()[0]).toContain('version 99')
  expect([bench.stateOf(damaged).outcome, bench.stateOf(other).outcome, requests()]).toEqual([null, null, []])
})

test('what nobody has written who is of this version is not read: it could name a folder', async () => {
  const { url, requests, ...bench } = await workersOn()
  const usual = bench.stateOf(await bench.submit(text()))
  bench.queue.jobs.clear()
  const spoilt = ['{', '7', '{}', '['.repeat(9_000)].concat(
    [
      { ...usual, attempt: '../../x' },
      { ...usual, attempt: usual.attempt.slice(1) },
      { ...usual, failures: -1 },
      { ...usual, job: { id: 7, kind: 'video', since: 0 } },
      { ...usual, job: { id: 'a', kind: 'response', since: 0 } },
      { ...usual, made: { origin: 'x', expires_at: 0, images: [{}] } },
      { ...usual, outcome: { kind: 'error', error: null } },
      { ...usual, more: 1 },
    ].map((state) => JSON.stringify(state)),
  )
  const ids = await Promise.all(spoilt.map((_, at) => bench.submit(text(`t${at}`))))
  for (const [at, state] of spoilt.entries()) bench.queue.jobs.get(ids[at]!)!.data.state = state
  bench.work(url)
  await until(() => ids.every((id) => bench.isOver(id)))
  expect(requests()).toEqual([])
})

test('a signal lets what is in flight end, and gives back what waits', async () => {
  const { url, created, ...bench } = await workersOn()
  const ids = await Promise.all(['a', 'b', 'c'].map((name) => bench.submit(text(name))))
  const sent = Promise.withResolvers<void>()
  const gateway = { onSend: () => sent.resolve() }
  const worker = bench.work(url, { graceS: 600, places: ones }, { gateway })
  await sent.promise
  worker.abort(new Interrupted('interrupt'))
  expect(await worker.ended).toMatchObject({ exit: 'interrupt' })
  const done = ids.filter((id) => bench.stateOf(id).outcome !== null)
  expect([done.length > 0, created()]).toEqual([true, done.length])
  expect(ids.filter((id) => bench.isOver(id))).toEqual(done)
})

test('it ends by itself when nothing is left', async () => {
  const { url, ...bench } = await workersOn()
  const ids = [await bench.submit(text()), await bench.submit(video())]
  expect(await bench.work(url, { untilEmpty: true }).ended).toBe(undefined)
  expect(ids.map((id) => bench.stateOf(id).outcome?.kind)).toEqual(['result', 'result'])
  const { message } = bench.queue.jobs.get(ids[0]!)!.data
  expect(decodeTask(message)).toMatchObject({ instance: 'text', count: 1 })
})
