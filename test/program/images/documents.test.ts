import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pngBytes } from '../../support/image-bytes.ts'
import { problemsBySchema } from '../../support/output-validator.ts'
import { runningSandbox, type Json } from '../../support/running-sandbox.ts'
import { writeFiles } from '../../support/temporary-folder.ts'
import { paddedPng, testImages } from '../../support/test-images.ts'
import { quick, quickUrl, workspaceAt } from './image-run.ts'

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

test('--json is one document that describes every file', async () => {
  const workspace = workspaceAt(await runningSandbox())
  const words = ['create', ...quick, '-n', '2', '-o', 'x.png', '--json', 'A kite']
  const { code, out, err } = await workspace.run(words)
  expect([code, err]).toEqual([0, ''])
  expect(out.trimEnd().split('\n').length).toBe(1)
  const document = JSON.parse(out) as Json
  expect(await problemsBySchema('output', document)).toEqual([])
  expect(document).toEqual({
    version: 1,
    command: 'image create',
    model: 'gpt-image-2',
    files: ['x-1.png', 'x-2.png'].map((path) => ({
      path,
      bytes: workspace.read(path).length,
      sha256: sha256(workspace.read(path)),
      mime_type: 'image/png',
      format: 'png',
      width: 1024,
      height: 1024,
      revised_prompt: null,
      verified: true,
      existing: false,
    })),
    usage: expect.objectContaining({ output_tokens: 544 }),
    cost: null,
    request_id: expect.stringMatching(/^req_[0-9a-f]{32}$/),
    response: expect.objectContaining({
      created: expect.any(Number),
      data: [{ b64_json: null }, { b64_json: null }],
      output_format: 'png',
      quality: 'low',
      size: '1024x1024',
      background: 'opaque',
      usage: expect.objectContaining({ output_tokens: 544 }),
    }),
    partials: [],
    mismatches: [],
    links: [],
    failures: [],
    warnings: [],
  })
})

test('--json --no-download lists links', async () => {
  const workspace = workspaceAt(await runningSandbox())
  const { out } = await workspace.run(['create', ...quickUrl, '-n', '2', '--no-download', '--json', 'A kite'])
  const document = JSON.parse(out) as Json
  expect(await problemsBySchema('output', document)).toEqual([])
  const expires_at = Date.UTC(2026, 0, 1, 1) / 1000
  expect(document.files).toEqual([])
  expect(document.links).toEqual([
    { index: 1, url: document.response.data[0].url, expires_at },
    { index: 2, url: document.response.data[1].url, expires_at },
  ])
})

test('--jsonl begins with start, ends with end, and tells every file', async () => {
  const workspace = workspaceAt(await runningSandbox())
  const words = ['--stream', '--partial-images', '2', '--save-partials', '-o', 'x.png', '--jsonl']
  const { code, out, err } = await workspace.run(['create', ...quick, ...words, 'A kite'])
  expect([code, err]).toEqual([0, ''])
  const events = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Json)
  for (const event of events) expect(await problemsBySchema('events', event)).toEqual([])
  expect(events.map(({ type }) => type)).toEqual([
    'start',
    'image-partial',
    'image-partial',
    'image-save',
    'end',
  ])
  expect(events.slice(1, 4)).toMatchObject([
    { index: 1, partial: 0, file: { path: 'x-partial-1.png' } },
    { index: 1, partial: 1, file: { path: 'x-partial-2.png' } },
    { index: 1, file: { path: 'x.png' } },
  ])
  expect(events[4]).toMatchObject({
    files: [{ path: 'x.png' }],
    partials: [{ path: 'x-partial-1.png' }, { path: 'x-partial-2.png' }],
  })
})

test('--jsonl of an upload that takes a while tells how far it is', async () => {
  const workspace = workspaceAt(await runningSandbox())
  const png = paddedPng(pngBytes(), 3_000_000)
  writeFiles(workspace.cwd, { 'in.png': png })
  const images = Array.from({ length: 4 }, () => ['--image', 'in.png']).flat()
  const { code, out } = await workspace.run(['edit', ...quick, ...images, '-o', 'x.png', '--jsonl', 'A kite'])
  expect(code).toBe(0)
  const events = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Json)
  expect(events[0]).toMatchObject({ type: 'start', command: 'image edit' })
  const progress = events.filter(({ type }) => type === 'upload-progress')
  for (const event of progress) expect(await problemsBySchema('events', event)).toEqual([])
  expect(progress.length).toBeGreaterThan(1)
  const { sent, total } = progress.at(-1)
  expect(sent).toBe(total)
  expect(total).toBeGreaterThan(4 * png.length)
  expect(progress.map((event) => event.sent)).toEqual(
    progress.map((event) => event.sent).sort((a, b) => a - b),
  )
})

test('--sidecar writes how each image was made', async () => {
  const sandbox = await runningSandbox()
  const workspace = workspaceAt(sandbox)
  const { png } = await testImages(64)
  writeFiles(workspace.cwd, { 'in.png': png })
  const words = ['edit', ...quick, ...'--image in.png -n 2 -o x.png --sidecar --json A-kite'.split(' ')]
  const { code, out } = await workspace.run(words)
  expect(code).toBe(0)
  expect(workspace.files()).toEqual(['in.png', 'x-1.png', 'x-1.png.json', 'x-2.png', 'x-2.png.json'])
  const { request_id, response, files } = JSON.parse(out) as Json
  const { revised_prompt, existing: _, ...output } = files[1]
  expect(JSON.parse(workspace.read('x-2.png.json').toString())).toEqual({
    version: 2,
    generator: expect.stringMatching(/^modelgate \d/),
    time: '2026-01-01T00:00:00.000Z',
    command: 'image edit',
    model: 'gpt-image-2',
    prompt: 'A-kite',
    revised_prompt,
    parameters: { n: 2, quality: 'low', output_format: 'png' },
    request_id,
    usage: response.usage,
    inputs: [{ field: 'image', path: 'in.png', bytes: png.length, sha256: sha256(png) }],
    output,
  })
})

test('--skip-existing makes a second run free', async () => {
  const sandbox = await runningSandbox()
  const workspace = workspaceAt(sandbox)
  const words = ['create', ...quickUrl, '-n', '3', '-o', 'x.png', '--skip-existing', 'A kite']
  const paths = 'x-1.png\nx-2.png\nx-3.png\n'
  expect(await workspace.run(words)).toMatchObject({ code: 0, out: paths })
  const requests = sandbox.requests().length
  const again = await workspace.run([...words, '--json'])
  expect([again.code, sandbox.created(), sandbox.requests().length]).toEqual([0, 1, requests])
  const document = JSON.parse(again.out) as Json
  expect(await problemsBySchema('output', document)).toEqual([])
  expect(document.files).toMatchObject([{ path: 'x-1.png', width: 256 }, {}, { path: 'x-3.png' }])
  expect(document.files.map(({ existing }: Json) => existing)).toEqual([true, true, true])
  expect(document.warnings).toEqual(['All files already exist; nothing was sent.'])
  const { code, out, err } = await workspace.run(words)
  expect([code, out]).toEqual([0, paths])
  expect(err.match(/^image .*?(?=,)/gm)).toEqual([
    'image 1 of 3 exists: 256x256 png',
    'image 2 of 3 exists: 256x256 png',
    'image 3 of 3 exists: 256x256 png',
  ])
})

test('--skip-existing makes only what is missing, under its own name', async () => {
  const sandbox = await runningSandbox()
  const workspace = workspaceAt(sandbox)
  const words = ['create', ...quickUrl, '-n', '4', '-o', 'x.png', '--skip-existing', 'A kite']
  const { png } = await testImages(8)
  writeFiles(workspace.cwd, { 'x-1.png': png, 'x-3.png': png })
  const { code, out } = await workspace.run([...words, '--json'])
  expect(code).toBe(0)
  const document = JSON.parse(out) as Json
  expect(document.response.data.length).toBe(2)
  expect(document.files.map(({ path }: Json) => path)).toEqual(['x-1.png', 'x-2.png', 'x-3.png', 'x-4.png'])
  expect(document.files.map(({ existing }: Json) => existing)).toEqual([true, false, true, false])
  expect(workspace.files()).toEqual(['x-1.png', 'x-2.png', 'x-3.png', 'x-4.png'])
  expect(workspace.read('x-1.png').equals(png)).toBe(true)
  expect(workspace.info('x-4.png')).toMatchObject({ width: 256 })
  expect(await workspace.run(words)).toMatchObject({ code: 0, out: 'x-1.png\nx-2.png\nx-3.png\nx-4.png\n' })
  expect(sandbox.created()).toBe(1)
})

test.each<[string, (path: string) => void, string]>([
  ['an empty file', (path) => writeFileSync(path, ''), 'is empty.'],
  ['a text', (path) => writeFileSync(path, 'a kite'), 'is not an image.'],
  ['a folder', (path) => mkdirSync(path), 'cannot be read: it is a folder.'],
  ['a pipe', (path) => execFileSync('mkfifo', [path]), 'is not a regular file.'],
])('--skip-existing refuses %s, and sends nothing', async (_, make, problem) => {
  const sandbox = await runningSandbox()
  const workspace = workspaceAt(sandbox)
  make(join(workspace.cwd, 'x-1.png'))
  const words = ['create', ...quick, '-n', '2', '-o', 'x-{index}.png', '--skip-existing', 'A kite']
  const { code, out, err } = await workspace.run(words)
  expect([code, out, sandbox.created()]).toEqual([10, '', 0])
  expect(err).toBe(
    `modelgate: "x-1.png" ${problem}\n` +
      '  hint: --skip-existing takes it for an image that was made. Remove it, or choose another name.\n',
  )
})
