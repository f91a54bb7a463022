import { expect, test } from 'vitest'
import type { Instance } from '../../../src/pipeline/manifest/manifest.ts'
import { buildReport } from '../../../src/pipeline/report/report-model.ts'
import { testContext } from '../../support/test-context.ts'
import { pngBytes } from '../../support/image-bytes.ts'
import { createSampleWorld, textFields, type SampleWorld } from '../plan/sample-world.ts'
import { filesField, valueField } from '../../support/pipeline-task.ts'

async function report(world: SampleWorld) {
  const all = world.world()
  return await buildReport({
    context: testContext({ cwd: world.folder }),
    project: all,
    plan: await world.plan(),
    shown: new Set(all.manifest.instances.keys()),
    currency: 'EUR',
    since: null,
    next: (...words) => ['modelgate', 'run', ...words],
  })
}

test('what failed comes first, then what awaits a decision, then what a run would do', async () => {
  const world = createSampleWorld({ done: {}, made: {}, refused: {}, gone: {}, choose: { variants: 2 } })
  await world.make('done', 'a')
  await world.make('gone', 'b')
  world.remove('assets/gone.png')
  await world.offer('choose', 'c', 1)
  await world.offer('choose', 'd', 2)
  const failure = { code: 'content_refused', message: 'No.', exit_code: 9, billed: 'no' } as const
  const key = await world.keyOf('refused')
  world.history.note({ type: 'failure', key, instance: 'refused', ...failure })
  expect(await report(world)).toMatchObject({
    assets: [
      { id: 'refused', next: ['modelgate', 'run', 'refused'], failure },
      {
        id: 'gone',
        next: ['modelgate', 'run', '--regenerate', 'gone'],
        files: [{ path: 'assets/gone.png', stored: null }],
      },
      { id: 'choose', next: null },
      { id: 'made', next: ['modelgate', 'run', 'made'] },
      { id: 'done', next: null },
    ],
    sums: { assets: 5, creates: 2, states: { fresh: 1, awaiting: 1, new: 2, lost: 1, stale: 0 } },
  })
})

test('a file changed by hand is shown as it is, beside what is locked', async () => {
  const world = createSampleWorld({ hero: {} })
  await world.make('hero', 'locked')
  world.keep('locked')
  world.write({ 'assets/hero.png': pngBytes({ width: 16, height: 8 }) })
  expect((await report(world)).assets).toMatchObject([
    {
      files: [{ path: 'assets/hero.png', stored: 'assets/hero.png', width: 16, media_type: 'image/png' }],
      before: [{ stored: expect.stringMatching(/^\.modelgate\/replaced\//) }],
      next: ['modelgate', 'run', 'adopt', 'hero'],
    },
  ])
})

test('requests are counted once, and costs add up exactly', async () => {
  const world = createSampleWorld({ one: {}, two: { variants: 2 } })
  const pay = async (id: string, bytes: string, variant = 1) => {
    const key = await world.keyOf(id, variant)
    const request = { instance: id, key, variant, idempotency_key: key, creates: 1, cost: 0.1 }
    world.history.note({ type: 'intent', ...request })
    await world.record(id, bytes, { variant })
  }
  await pay('one', 'x')
  await pay('two', 'a')
  await pay('two', 'b', 2)
  await world.make('one', 'x')
  await world.make('two', 'a', { picked: 1 })
  const { sums } = await report(world)
  expect(sums).toMatchObject({ cost: 0.3, currency: 'EUR', bytes: 2, took_s: 12 })
})

test('the fields of a request are texts, with the assets that they refer to', async () => {
  const fields: Instance['fields'] = {
    ...textFields({ prompt: 'A harbour' }),
    size: valueField('1536x1024'),
    mask: filesField('masks/left.png'),
    image: filesField('@teaser'),
  }
  const world = createSampleWorld({ teaser: {}, hero: { fields } })
  world.write({ 'masks/left.png': pngBytes() })
  const { assets } = await report(world)
  expect(assets.find(({ id }) => id === 'hero')).toMatchObject({
    prompt: 'A harbour',
    fields: [
      { name: 'size', text: '1536x1024', assets: [] },
      { name: 'mask', text: 'masks/left.png', assets: [] },
      { name: 'image', text: '@teaser', assets: ['teaser'] },
    ],
  })
})
