import { join } from 'node:path'
import { expect, test } from 'vitest'
import { problemsBySchema } from '../../support/output-validator.ts'
import { runBench } from '../run/run-bench.ts'
import { formats, reportIn, writeReport } from './sample-report.ts'

const manifest = `version: 1
jobs:
  note: { respond: { model: m, input: { file: "@hero-text" } }, out: copy/note.txt }
  hero-text: { respond: { model: m, input: Write a line. }, out: copy/hero.txt }
  hero:
    image create: { model: image-model-a, prompt: A harbour }
    alt: Harbour at dawn
    out: assets/hero.png
  cover: { image create: { model: image-model-a, prompt: A cover }, variants: 2, out: assets/cover.png }
`

test('a run is shown as it stands, with what was there before', async () => {
  const bench = await runBench({ 'modelgate.yaml': manifest })
  await bench.run()
  bench.write('modelgate.yaml', manifest.replace('A harbour', 'Hills at dusk'))
  await bench.run()
  expect(await writeReport(bench)).toMatchObject({
    command: 'run report',
    states: { fresh: 3, awaiting: 1 },
    files: [{ path: 'report.json', format: 'json' }],
    warnings: [],
  })
  expect(await problemsBySchema('output', reportIn(bench))).toEqual([])
  const pick = ['modelgate', 'run', 'pick', 'cover']
  const { assets } = reportIn(bench)
  expect(assets).toMatchObject([
    {
      id: 'cover',
      state: 'awaiting',
      candidates: [
        { state: 'awaiting', pick: [...pick, '1'] },
        { state: 'awaiting', pick: [...pick, '2'] },
      ],
    },
    { id: 'note', state: 'fresh', prompt: '@hero-text', before: [] },
    { id: 'hero-text', state: 'fresh' },
    {
      id: 'hero',
      state: 'fresh',
      prompt: 'Hills at dusk',
      alt: 'Harbour at dawn',
      model: 'image-model-a',
      files: [{ path: 'assets/hero.png', stored: 'assets/hero.png', media_type: 'image/png' }],
      before: [{ stored: expect.stringMatching(/^\.modelgate\/results\/\w+\/1\.png$/) }],
    },
  ])
  expect(assets[3]!.before[0]!.sha256).not.toBe(assets[3]!.files[0]!.sha256)
})

test('that of the sandbox lies in its folder, unless a place is named', async () => {
  const bench = await runBench({ 'modelgate.yaml': manifest })
  const { files } = await writeReport(bench, {}, { isSandbox: true })
  expect(files).toMatchObject([{ path: join('.modelgate', 'sandbox', 'report.json') }])
  await writeReport(bench, { isPlaced: true }, { isSandbox: true })
  expect(bench.exists('report.json')).toBe(true)
})

test('every format, into files that are not there, and only of the jobs that are named', async () => {
  const bench = await runBench({ 'modelgate.yaml': manifest })
  await bench.run()
  const { files } = await writeReport(bench, { files: formats, jobs: ['her*'], isForced: false })
  expect(files).toEqual(formats.map((file) => ({ ...file, bytes: Buffer.byteLength(bench.read(file.path)) })))
  expect(reportIn(bench).assets.map(({ id }) => id)).toEqual(['hero-text', 'hero'])
  expect(bench.read('report.md')).toContain('## Up to date (2)')
  expect(bench.read('report.html')).toMatch(/<\/html>\n$/)
  await expect(writeReport(bench, { jobs: ['heros'] })).rejects.toMatchObject({ code: 'unknown_id' })
})

test.each(formats)('$path replaces the one before, and nothing else', async ({ path, format }) => {
  const bench = await runBench({ 'modelgate.yaml': manifest })
  const write = (path: string) => writeReport(bench, { files: [{ path, format }], isForced: false })
  await write(path)
  await write(path)
  bench.write(path, 'mine')
  await expect(write(path)).rejects.toMatchObject({ code: 'file_exists' })
  await expect(write('.')).rejects.toMatchObject({ code: 'not_a_file' })
})

test('what the program knows as a secret is not in a report', async () => {
  const bench = await runBench({ 'modelgate.yaml': manifest.replace('A harbour', 'A harbour hunter2') })
  const hide = (text: string) => text.replaceAll('hunter2', '***')
  await writeReport(bench, {}, { redactor: { text: hide, document: hide } })
  expect(bench.read('report.json')).toContain('A harbour ***')
  expect(bench.read('report.json')).not.toContain('hunter2')
})
