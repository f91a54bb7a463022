import { describe, expect, test } from 'vitest'
import { adoptJobs } from '../../../src/pipeline/changes/change-outputs.ts'
import { runBench } from './run-bench.ts'

const storyboard = `version: 1
jobs:
  scenes:
    generate: { model: gemini-3-pro, prompt: "A storyboard", schema: scenes.json }
    out: story/scenes.json
  frames:
    each: "@scenes"
    image create: { model: gpt-image-2, prompt: "\${title}" }
    out: frames/\${id}.png
  clips:
    each: "@scenes"
    video generate: { model: veo-3.1, prompt: "\${title}", image: "@frames[\${id}]" }
    out: clips/\${id}.mp4
`

/** A schema that one answer alone matches: the sandbox gives that. */
const answering = (scenes: unknown): string =>
  JSON.stringify({ type: 'object', properties: { scenes: { const: scenes } }, required: ['scenes'] })

const two = [
  { id: 'dawn', title: 'Harbour at dawn' },
  { id: 'noon', title: 'Harbour at noon' },
]

const bench = (scenes: unknown, manifest = storyboard) =>
  runBench({ 'modelgate.yaml': manifest, 'scenes.json': answering(scenes) })

test('a text is made first, then one result for each of its elements', async () => {
  const project = await bench(two)
  const { told: planned, document } = await project.run({ mode: 'plan' })
  expect(planned).toEqual(['scenes: new', 'frames: pending', 'clips: pending'])
  expect(document!.instances[1]!.reasons).toEqual(['After @scenes: one for each element, at most 20.'])
  expect(document!.creates.planned).toBe(1)
  expect((await project.run({ mode: 'check' })).exit).toBe('outdated')

  const { events, ...run } = await project.run({ maxCreates: 5 })
  expect(run).toMatchObject({
    exit: 'ok',
    told: [
      'scenes: fresh (generated)',
      'frames[dawn]: fresh (generated)',
      'frames[noon]: fresh (generated)',
      'clips[dawn]: fresh (generated)',
      'clips[noon]: fresh (generated)',
    ],
    document: { creates: { planned: 5, made: 5, limit: 5 } },
    created: 5,
  })
  expect(project.list('clips').toSorted()).toEqual(['dawn.mp4', 'noon.mp4'])
  const plans = events.flatMap((event) => (event.type === 'plan-make' ? [event.instances] : []))
  expect(plans).toEqual([3, 5])
  expect(await project.run({ mode: 'check' })).toMatchObject({ exit: 'ok', created: 5 })
})

test('of a text that is made again the elements are not known, and what they had is no orphan', async () => {
  const project = await bench(two)
  await project.run({ maxCreates: 5 })
  expect(await project.run({ mode: 'plan', regenerate: ['scenes'] })).toMatchObject({
    told: ['scenes: stale', 'frames: pending', 'clips: pending'],
    document: { orphans: [] },
  })
  project.write('scenes.json', answering(two.slice(1)))
  expect(await project.run({ maxCreates: 5, newRun: true })).toMatchObject({
    told: ['scenes: fresh (generated)', 'frames[noon]: fresh', 'clips[noon]: fresh'],
    document: { orphans: ['clips[dawn]', 'frames[dawn]'] },
  })
})

test.each<[string, unknown, string]>([
  ['a path', [{ id: '../x', title: 'a' }], '@scenes:1:12: The id "../x" cannot name a file'],
  ['a device', [{ id: 'CON', title: 'a' }], 'The id "CON" is reserved on Windows.'],
  ['null where a text is used', [{ id: 'a', title: null }], '`${title}` is null in the row, not a text.'],
  ['no array', 'none', 'The text is neither a JSON array nor an object with exactly one array in it.'],
])('a text of which nothing can be made is rejected: %s', async (_, scenes, reason) => {
  const { document, ...run } = await (await bench(scenes)).run({ maxCreates: 5 })
  const told = ['scenes: rejected (rejected)', 'frames: blocked (skipped)', 'clips: blocked (skipped)']
  expect(run).toMatchObject({ exit: 'partial', told, created: 1 })
  expect(document!.instances[0]!.reasons.join(' ')).toContain(reason)
})

test('more elements than max_instances make nothing, and end the run with 15', async () => {
  const project = await bench(Array.from({ length: 10_000 }, (_, at) => ({ id: `s${at}`, title: 'a' })))
  const { document, ...run } = await project.run({ maxCreates: 50_000 })
  const told = ['scenes: fresh (generated)', 'frames: blocked (skipped)', 'clips: blocked (skipped)']
  expect(run).toMatchObject({ exit: 'limit', told, created: 1 })
  expect(document!.instances[1]!.reasons).toEqual([
    '@scenes has 10000 elements, more than max_instances of frames (20).',
  ])
  const checked = await project.run({ mode: 'check' })
  expect([checked.exit, checked.told[1]]).toEqual(['outdated', 'frames: blocked'])
})

describe('what a model decides is confirmed, or bounded', () => {
  test('nobody can be asked, and nothing bounds it: exit 2, nothing sent', async () => {
    const error = { exit: 'usage', code: 'not_confirmed' }
    expect(await (await bench(two)).run({ isAttended: false })).toMatchObject({ error, created: 0 })
  })

  test.each<[string, string, number | undefined]>([
    ['--max-creates', storyboard, 5],
    ['budget.creates', `budget: { creates: 5 }\n${storyboard}`, undefined],
    ['max_instances', storyboard.replaceAll('"@scenes"', '"@scenes"\n    max_instances: 2'), undefined],
  ])('%s bounds it', async (_, manifest, maxCreates) => {
    const project = await bench(two, manifest.replace(/ {2}clips:[^]*/, ''))
    expect((await project.run({ isAttended: false, maxCreates })).exit).toBe('ok')
  })

  test('it is asked about when it is known; no makes nothing of it, and the next run asks again', async () => {
    const project = await bench(two)
    const asked: unknown[] = []
    const confirm = (answer: boolean) => async (request: { creates: number; elements: number }) => {
      asked.push([request.creates, request.elements])
      return request.elements === 0 || answer
    }
    const { error, told, created } = await project.run({ confirm: confirm(false) })
    expect([error?.code, told[0], created]).toEqual(['not_confirmed', 'scenes: fresh (generated)', 1])
    expect((await project.run({ confirm: confirm(true) })).exit).toBe('ok')
    expect(asked).toEqual([
      [1, 0],
      [4, 4],
      [4, 4],
    ])
  })
})

test('an element cannot be named before it is known', async () => {
  const project = await bench(two)
  const { error } = await project.run({ jobs: ['frames[dawn]'], maxCreates: 5 })
  expect(error?.message).toBe(
    '"frames[dawn]" is not known yet: the instances of frames are the elements of @scenes.',
  )
  expect((await project.run({ jobs: ['scenes'], maxCreates: 5 })).exit).toBe('ok')
  const { told } = await project.run({ jobs: ['frames[dawn]'], maxCreates: 5 })
  expect(told).toEqual(['scenes: fresh', 'frames[dawn]: fresh (generated)'])
})

test('what a person makes of the text and adopts is what is made', async () => {
  const project = await bench(two, storyboard.replace(', schema: scenes.json', ''))
  expect((await project.run({ maxCreates: 9 })).exit).toBe('partial')
  expect((await project.run({ mode: 'check' })).told[0]).toBe('scenes: rejected')
  project.write('story/scenes.json', JSON.stringify(two.slice(1)))
  await adoptJobs(project.call, ['scenes'])
  const { told } = await project.run({ maxCreates: 9 })
  expect(told.slice(0, 2)).toEqual(['scenes: fresh', 'frames[noon]: fresh (generated)'])
})

test('a budget that is reached within a fan-out is counted across both parts of the run', async () => {
  const project = await bench(two)
  expect(await project.run({ maxCreates: 3 })).toMatchObject({ exit: 'limit', made: 3 })
  expect(await project.run({ maxCreates: 5 })).toMatchObject({ exit: 'ok', created: 5 })
})

test('a job and its fan-out lie in one shard, whatever is known of it', async () => {
  const more = `${storyboard}  hero: { image create: { model: gpt-image-2, prompt: Boat }, out: hero.png }\n`
  const project = await bench(two, more)
  const shardOf = async (index: number) => {
    const { told } = await project.run({ mode: 'plan', shard: { index, total: 2 } })
    return told.map((line) => line.replace(/:.*/, ''))
  }
  expect([await shardOf(1), await shardOf(2)]).toEqual([['scenes', 'frames', 'clips'], ['hero']])
  await project.run({ maxCreates: 9 })
  expect([await shardOf(1), await shardOf(2)]).toEqual([
    ['scenes', 'frames[dawn]', 'frames[noon]', 'clips[dawn]', 'clips[noon]'],
    ['hero'],
  ])
})

test('a shard does not start when all elements that may come would exceed the budget', async () => {
  const project = await bench(two)
  const { error, created } = await project.run({ maxCreates: 40, shard: { index: 1, total: 2 } })
  expect([error?.exit, created]).toEqual(['limit', 0])
})
