import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import { outputSchemas } from '../../../src/events/documents.ts'
import { buildReport } from '../../../src/pipeline/report/report-model.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { testImages } from '../../support/test-images.ts'
import { sampleProject, type SampleAsset } from './sample-project.ts'

const png = async (width: number) => ({
  bytes: (await testImages(width, 8)).png,
  mediaType: 'image/png',
  size: [width, 8] as const,
})
const textFile = (bytes: string) => ({ bytes, mediaType: 'text/plain' })

async function report(assets: readonly SampleAsset[]) {
  const folder = temporaryFolder()
  return buildReport(testContext({ cwd: folder }), sampleProject(folder, assets))
}

test('what failed comes first, then what awaits a decision, then what a run would do', async () => {
  const { assets, sums } = await report([
    { id: 'done', state: 'fresh', locked: textFile('a') },
    { id: 'choose', state: 'awaiting', instance: { variants: 2 } },
    { id: 'made', state: 'new' },
    { id: 'refused', state: 'new', failure: { code: 'content_refused', message: 'No.', exit_code: 9 } },
    { id: 'gone', state: 'lost', locked: textFile('b') },
  ])
  expect(assets.map(({ id }) => id)).toEqual(['refused', 'gone', 'choose', 'made', 'done'])
  expect(sums.states).toMatchObject({ fresh: 1, awaiting: 1, new: 2, lost: 1, stale: 0 })
  expect(sums.assets).toBe(5)
})

test('a file changed by hand is shown as it is, beside what is locked', async () => {
  const { assets } = await report([
    { id: 'hero', state: 'changed', locked: await png(8), found: await png(16) },
  ])
  const [{ files, before, next }] = assets as [(typeof assets)[number]]
  expect(files).toMatchObject([
    { path: 'assets/hero.webp', stored: 'assets/hero.webp', width: 16, media_type: 'image/png' },
  ])
  expect(before).toMatchObject([{ width: 8, stored: expect.stringMatching(/^\.modelgate\/replaced\//) }])
  expect(next).toEqual(['modelgate', 'run', 'adopt', 'hero'])
})

test('what was there before comes from the journals and their results', async () => {
  const { assets } = await report([
    { id: 'hero', state: 'fresh', locked: await png(8), before: await png(16) },
    { id: 'same', state: 'fresh', locked: await png(8), before: await png(8) },
  ])
  expect(assets.map(({ files, before }) => [files[0]?.width, before[0]?.width])).toEqual([
    [8, 16],
    [8, undefined],
  ])
})

test('a file that is gone is shown from where its bytes are kept, and where nothing has it the report says so', async () => {
  const sources = [{ id: 'hero', state: 'restorable', locked: textFile('a') }] as const
  const [restorable] = (await report(sources)).assets
  expect(restorable?.files[0]?.stored).toMatch(/^\.modelgate\/replaced\//)
  const folder = temporaryFolder()
  const gone = { ...sampleProject(folder, sources), find: async () => undefined }
  const [lost] = (await buildReport(testContext({ cwd: folder }), gone)).assets
  expect(lost?.files).toMatchObject([{ path: 'assets/hero.webp', stored: null }])
})

test('candidates have the command that picks them, unless they were rejected or the manifest picks', async () => {
  const candidates = [textFile('a'), { ...textFile('b'), rejected: ['It is narrower than 10 pixels.'] }]
  const { assets } = await report([
    { id: 'hero', state: 'awaiting', instance: { variants: 2 }, candidates },
    { id: 'cover', state: 'awaiting', instance: { variants: 2, pick: 2 }, candidates },
    { id: 'icon', state: 'fresh', instance: { variants: 2 }, candidates, locked: textFile('a'), picked: 1 },
  ])
  expect(
    assets.map(({ candidates }) => candidates.map(({ state, pick }) => [state, pick?.join(' ')])),
  ).toEqual([
    [
      ['awaiting', 'modelgate run pick hero 1'],
      ['rejected', undefined],
    ],
    [
      ['awaiting', undefined],
      ['rejected', undefined],
    ],
    [
      ['picked', undefined],
      ['rejected', undefined],
    ],
  ])
})

test('requests are counted once, and costs add up exactly', async () => {
  const candidates = [textFile('a'), textFile('b')]
  const { sums } = await report([
    { id: 'one', state: 'fresh', locked: textFile('x'), cost: 0.1 },
    {
      id: 'two',
      state: 'fresh',
      instance: { variants: 2 },
      candidates,
      locked: textFile('a'),
      picked: 1,
      cost: 0.1,
    },
  ])
  expect(sums).toMatchObject({ cost: 0.3, currency: 'EUR', bytes: 2 })
  expect(sums.took_s).toBeCloseTo(37.2)
})

test('the report is described by its schema', async () => {
  const model = await report([
    {
      id: 'hero',
      state: 'awaiting',
      prompt: 'A harbour',
      fields: {
        size: { kind: 'value', value: '1536x1024' },
        mask: { kind: 'files', files: [{ source: { path: 'masks/left.png' }, role: null }] },
      },
      candidates: [await png(8), await png(9)],
      instance: { variants: 2, alt: 'A harbour at dawn' },
    },
    { id: 'teaser', state: 'fresh', locked: await png(8), before: await png(9), cost: 0.2 },
    { id: 'refused', state: 'new', failure: { code: 'content_refused', message: 'No.', exit_code: 9 } },
  ])
  const closed = JSON.stringify(outputSchemas.assets).replaceAll(
    '"type":"object",',
    '"type":"object","additionalProperties":false,',
  )
  const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(JSON.parse(closed) as object)
  validate(JSON.parse(JSON.stringify(model)))
  expect(validate.errors).toBeNull()
  expect(model.assets[1]).toMatchObject({
    prompt: 'A harbour',
    fields: [
      { name: 'size', text: '1536x1024', assets: [] },
      { name: 'mask', text: 'masks/left.png', assets: [] },
    ],
  })
})
