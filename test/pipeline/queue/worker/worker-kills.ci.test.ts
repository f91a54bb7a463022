import { join } from 'node:path'
import { hasBlob } from '../../store/has-blob.ts'
import { expect, test } from 'vitest'
import { pngBytes } from '../../../support/image-bytes.ts'
import { filesField, instanceOf, textField } from '../../../support/pipeline-task.ts'
import { runningSandbox } from '../../../support/running-sandbox.ts'
import { until } from '../../../support/until.ts'
import { mortal } from './mortal.ts'
import { fastClock } from '../../../support/fast-clock.ts'
import { workerBench } from './worker-bench.ts'

const edit = instanceOf({
  id: 'edit',
  command: 'image edit',
  fields: { prompt: textField('Make it red'), image: filesField('cup.png') },
  output: 'out.png',
})
const video = instanceOf({
  command: 'video generate',
  fields: { prompt: textField('A wave') },
  output: 'out.mp4',
})
/** Of a worker that has died. */
const processes = { own: 2 ** 30, isRunning: () => false }

/** Kills a worker at its `at`th step, and lets another one go on. @returns undefined when it had fewer steps */
async function killAt(
  at: number,
  when: 'before' | 'after',
  what: typeof edit,
  isSentAgain: boolean,
): Promise<{ readonly step: string; readonly created: number; readonly state: string } | undefined> {
  const bench = await workerBench()
  const { url, created } = await runningSandbox({ clock: fastClock })
  bench.write('cup.png', pngBytes({ width: 64, height: 64 }))
  const [key] = await bench.submit([what])
  const died = Promise.withResolvers<string>()
  const life = mortal(at, when, died.resolve)
  const first = bench.work(
    url,
    { isSentAgain, graceS: 0 },
    {
      documents: life.documents(bench.documents),
      sender: life.sender(bench.delivery.sender),
      store: life.store(bench.store),
      gateway: life.gateway,
      processes,
    },
  )
  const step = await Promise.race([died.promise, bench.final().then(() => undefined)])
  if (step === undefined) return void (await first.stop())
  first.die()
  bench.step(61_000)
  const before = bench.left()
  const second = bench.work(url, { isSentAgain })
  await bench.final()
  const isAdopted = () => bench.left().every((name) => !before.includes(name) && !name.endsWith('.1'))
  await until(isAdopted, join(bench.machine, 'workers'))
  await second.stop()
  expect([when, at, step, bench.left(), second.warnings()]).toEqual([when, at, step, [], []])
  const { state, outcome } = bench.task(key!)
  if (outcome?.kind === 'result') {
    for (const { sha256 } of outcome.result.outputs) expect(await hasBlob(bench.store, sha256)).toBe(true)
  }
  expect(bench.record()).toMatchObject({ used: { creates: 1 }, inFlight: { text: 0, image: 0, video: 0 } })
  return { step, created: created(), state }
}

async function killEverywhere(what: typeof edit, isSentAgain: boolean) {
  const found: string[] = []
  for (const when of ['before', 'after'] as const) {
    for (let at = 1; ; at++) {
      const end = await killAt(at, when, what, isSentAgain)
      if (end === undefined) break
      found.push(`${when} ${end.step}: ${end.state}, ${end.created} created`)
    }
  }
  return found
}

test('a worker that is killed at any step loses no edit and pays for none twice', async () => {
  const found = await killEverywhere(edit, true)
  expect(found.length).toBeGreaterThan(10)
  expect(found.filter((line) => !line.endsWith(': done, 1 created'))).toEqual([])
})

test('a worker that is killed at any step loses no video and pays for none twice', async () => {
  const found = await killEverywhere(video, true)
  expect(found.length).toBeGreaterThan(14)
  expect(found.filter((line) => !line.endsWith(': done, 1 created'))).toEqual([])
})

test('where the gateway honours no keys, an edit is done, or its outcome unknown', async () => {
  const found = await killEverywhere(edit, false)
  const others = found.filter((line) => !line.endsWith(': done, 1 created'))
  // The first request is the edit, the second one the download of its picture.
  expect(others).toEqual([
    'before request: unknown, 0 created',
    'before request: unknown, 1 created',
    'after transact: unknown, 0 created',
    'after request: unknown, 0 created',
    'after request: unknown, 1 created',
  ])
})

test('where the gateway honours no keys, a video is done, or its outcome unknown', async () => {
  const found = await killEverywhere(video, false)
  const others = found.filter((line) => !line.endsWith(': done, 1 created'))
  expect(others).toEqual([
    'before request: unknown, 0 created',
    'after transact: unknown, 0 created',
    'after request: unknown, 0 created',
  ])
})
