import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import type { AssetReport } from '../../../src/events/asset-report.ts'
import { outputSchemas } from '../../../src/events/documents.ts'
import { writeReports, type ReportOptions } from '../../../src/pipeline/report/write-report.ts'
import type { ManifestCall } from '../../../src/pipeline/run/project.ts'
import { runBench } from '../run/run-bench.ts'

const manifest = `version: 1
jobs:
  note:
    respond: { model: m, input: { file: "@hero-text" } }
    out: copy/note.txt
  hero-text:
    respond: { model: m, input: Write a line. }
    out: copy/hero.txt
  hero:
    image create: { model: image-model-a, prompt: A harbour }
    alt: Harbour at dawn
    out: assets/hero.png
  cover:
    image create: { model: image-model-a, prompt: A cover }
    variants: 2
    out: assets/cover.png
`

type Bench = Awaited<ReturnType<typeof runBench>>

async function report(
  bench: Bench,
  options: Partial<ReportOptions> = {},
  changes: Partial<ManifestCall> = {},
) {
  const files = [{ path: 'report.json', format: 'json' }] as const
  const usual = {
    jobs: [],
    files,
    isPlaced: false,
    isForced: true,
    embeds: false,
    currency: null,
    since: undefined,
  }
  return writeReports({ ...bench.call, ...changes }, { ...usual, ...options })
}

function reportIn(bench: Bench): AssetReport {
  return JSON.parse(bench.read('report.json')) as AssetReport
}

test('a run is shown as it stands, with what was there before', async () => {
  const bench = await runBench({ 'modelgate.yaml': manifest })
  await bench.run()
  bench.write('modelgate.yaml', manifest.replace('A harbour', 'Hills at dusk'))
  await bench.run()
  const document = await report(bench)
  expect(document).toMatchObject({ command: 'run report', states: { fresh: 3, awaiting: 1 }, warnings: [] })
  expect(document.files).toMatchObject([{ path: 'report.json', format: 'json' }])
  const { assets } = reportIn(bench)
  const schema = JSON.stringify(outputSchemas.output).replaceAll(
    '"type":"object",',
    '"type":"object","additionalProperties":false,',
  )
  const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(JSON.parse(schema) as object)
  validate(reportIn(bench))
  expect(validate.errors).toBeNull()
  expect(assets.map(({ id, state }) => [id, state])).toEqual([
    ['cover', 'awaiting'],
    ['note', 'fresh'],
    ['hero-text', 'fresh'],
    ['hero', 'fresh'],
  ])
  const [cover, note, , hero] = assets
  expect(hero).toMatchObject({
    prompt: 'Hills at dusk',
    alt: 'Harbour at dawn',
    model: 'image-model-a',
    files: [{ path: 'assets/hero.png', stored: 'assets/hero.png', media_type: 'image/png' }],
    before: [
      { stored: expect.stringMatching(/^\.modelgate\/results\/\w+\/1\.png$/), media_type: 'image/png' },
    ],
  })
  expect(hero!.before[0]!.sha256).not.toBe(hero!.files[0]!.sha256)
  expect(note).toMatchObject({ prompt: '@hero-text', before: [] })
  expect(cover!.candidates.map(({ state, pick }) => [state, pick?.join(' ')])).toEqual([
    ['awaiting', 'modelgate run pick cover 1'],
    ['awaiting', 'modelgate run pick cover 2'],
  ])
})

test('that of the sandbox lies in its folder, unless a place is named', async () => {
  const bench = await runBench({ 'modelgate.yaml': manifest })
  expect((await report(bench, {}, { isSandbox: true })).files[0]?.path).toBe(
    join('.modelgate', 'sandbox', 'report.json'),
  )
  await report(bench, { isPlaced: true }, { isSandbox: true })
  expect(bench.exists('report.json')).toBe(true)
})

test('every format, into files that are not there, and only of the jobs that are named', async () => {
  const bench = await runBench({ 'modelgate.yaml': manifest })
  await bench.run()
  const files = [
    { path: 'report.html', format: 'html' },
    { path: 'report.md', format: 'markdown' },
    { path: 'report.json', format: 'json' },
  ] as const
  const document = await report(bench, { files, jobs: ['her*'], isForced: false })
  expect(document.files.map(({ path, bytes }) => [path, bytes])).toEqual(
    files.map(({ path }) => [path, Buffer.byteLength(bench.read(path))]),
  )
  expect(reportIn(bench).assets.map(({ id }) => id)).toEqual(['hero-text', 'hero'])
  expect(bench.read('report.md')).toContain('## Up to date (2)')
  expect(bench.read('report.html')).toMatch(/<\/html>\n$/)
  await expect(report(bench, { jobs: ['heros'] })).rejects.toMatchObject({ code: 'unknown_id' })
})

test('a report replaces the one before, and nothing else', async () => {
  const bench = await runBench({ 'modelgate.yaml': manifest })
  for (const [path, format] of [
    ['report.html', 'html'],
    ['report.md', 'markdown'],
    ['report.json', 'json'],
  ] as const) {
    const options = { files: [{ path, format }], isForced: false }
    await report(bench, options)
    await report(bench, options)
    bench.write(path, 'mine')
    await expect(report(bench, options)).rejects.toMatchObject({ code: 'file_exists' })
    const inFolder = { ...options, files: [{ path: '.', format }] }
    await expect(report(bench, inFolder)).rejects.toMatchObject({ code: 'not_a_file' })
  }
})

test('what the program knows as a secret is not in a report', async () => {
  const bench = await runBench({ 'modelgate.yaml': manifest.replace('A harbour', 'A harbour hunter2') })
  const hide = (text: string) => text.replaceAll('hunter2', '***')
  await report(bench, {}, { redactor: { text: hide, document: hide } })
  expect(bench.read('report.json')).toContain('A harbour ***')
  expect(bench.read('report.json')).not.toContain('hunter2')
})
