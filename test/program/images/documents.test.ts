import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pngBytes } from '../../support/image-bytes.ts'
import { runningSandbox, type Json } from '../../support/running-sandbox.ts'
import { writeFiles } from '../../support/temporary-folder.ts'
import { paddedPng, testImages } from '../../support/test-images.ts'
import { workspaceAt } from '../workspace.ts'
import { quick, quickUrl } from './image-run.ts'

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** A workspace, what `--json` prints in it, and how the events of `--jsonl` go; all of it is held to the schemas. */
async function scene() {
  const sandbox = await runningSandbox()
  const { run, ...workspace } = workspaceAt(sandbox, ['image'])
  const document = async (words: readonly string[]): Promise<Json> => {
    const { code, out, err } = await run([...words, '--json', 'A kite'])
    expect([code, err, out.trimEnd().split('\n').length]).toEqual([0, '', 1])
    return JSON.parse(out)
  }
  const events = async (words: readonly string[]): Promise<Json[]> => {
    const { code, out, err } = await run([...words, '--jsonl', 'A kite'])
    expect([code, err]).toEqual([0, ''])
    return out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Json)
  }
  return { ...workspace, sandbox, run, document, events }
}

test('--json is one document that describes every file', async () => {
  const { document, read } = await scene()
  expect(await document(['create', ...quick, '-n', '2', '-o', 'x.png'])).toEqual({
    version: 1,
    command: 'image create',
    model: 'gpt-image-2',
    files: ['x-1.png', 'x-2.png'].map((path) => ({
      path,
      bytes: read(path).length,
      sha256: sha256(read(path)),
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
      data: [{ b64_json: null }, { b64_json: null }],
      output_format: 'png',
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
  const { files, links, response } = await (
    await scene()
  ).document(['create', ...quickUrl, '-n', '2', '--no-download'])
  const expires_at = Date.UTC(2026, 0, 1, 1, 0, 1) / 1000
  expect([files, links]).toEqual([
    [],
    [
      { index: 1, url: response.data[0].url, expires_at },
      { index: 2, url: response.data[1].url, expires_at },
    ],
  ])
})

test('--jsonl begins with start, ends with end, and tells every file', async () => {
  const { events } = await scene()
  const words = ['--stream', '--partial-images', '2', '--save-partials', '-o', 'x.png']
  expect(await events(['create', ...quick, ...words])).toMatchObject([
    { type: 'start' },
    { type: 'image-partial', index: 1, partial: 0, file: { path: 'x-partial-1.png' } },
    { type: 'image-partial', index: 1, partial: 1, file: { path: 'x-partial-2.png' } },
    { type: 'image-save', index: 1, file: { path: 'x.png' } },
    {
      type: 'end',
      files: [{ path: 'x.png' }],
      partials: [{ path: 'x-partial-1.png' }, { path: 'x-partial-2.png' }],
    },
  ])
})

test('--jsonl of an upload that takes a while tells how far it is', async () => {
  const { events, cwd } = await scene()
  writeFiles(cwd, { 'in.png': paddedPng(pngBytes(), 3_000_000) })
  const images = '--image in.png --image in.png --image in.png --image in.png'.split(' ')
  const [start, ...others] = await events(['edit', ...quick, ...images, '-o', 'x.png'])
  expect(start).toMatchObject({ type: 'start', command: 'image edit' })
  const progress = others.filter(({ type }) => type === 'upload-progress')
  const sent = progress.map((event) => event.sent as number)
  expect(progress.length).toBeGreaterThan(1)
  expect(sent).toEqual(sent.toSorted((a, b) => a - b))
  expect(progress.at(-1).total).toBeGreaterThan(12_000_000)
  expect(sent.at(-1)).toBe(progress.at(-1).total)
})

test('--sidecar writes how each image was made', async () => {
  const { document, cwd, files: names, read } = await scene()
  const { png } = await testImages(64)
  writeFiles(cwd, { 'in.png': png })
  const words = '--image in.png -n 2 -o x.png --sidecar'.split(' ')
  const { request_id, response, files } = await document(['edit', ...quick, ...words])
  expect(names()).toEqual(['in.png', 'x-1.png', 'x-1.png.json', 'x-2.png', 'x-2.png.json'])
  const { revised_prompt, existing: _, ...output } = files[1]
  expect(JSON.parse(read('x-2.png.json').toString())).toEqual({
    version: 2,
    generator: expect.stringMatching(/^modelgate \d/),
    time: '2026-01-01T00:00:01.000Z',
    command: 'image edit',
    model: 'gpt-image-2',
    prompt: 'A kite',
    revised_prompt,
    parameters: { n: 2, quality: 'low', output_format: 'png' },
    request_id,
    usage: response.usage,
    inputs: [{ field: 'image', path: 'in.png', bytes: png.length, sha256: sha256(png) }],
    output,
  })
})

test('--skip-existing makes only what is missing, under its own name, and a second run is free', async () => {
  const { document, run, cwd, files, read, sandbox } = await scene()
  const words = ['create', ...quickUrl, '-n', '4', '-o', 'x.png', '--skip-existing']
  const { png } = await testImages(8)
  writeFiles(cwd, { 'x-1.png': png, 'x-3.png': png })
  const made = await document(words)
  expect(made).toMatchObject({
    files: [
      { path: 'x-1.png', existing: true },
      { path: 'x-2.png', existing: false, width: 256 },
      { path: 'x-3.png', existing: true },
      { path: 'x-4.png', existing: false },
    ],
    response: { data: [{}, {}] },
  })
  expect(made.response.data.length).toBe(2)
  expect(files()).toEqual(['x-1.png', 'x-2.png', 'x-3.png', 'x-4.png'])
  expect(read('x-1.png').equals(png)).toBe(true)
  const requests = sandbox.requests().length
  expect(await document(words)).toMatchObject({
    files: [{ existing: true }, { path: 'x-2.png', existing: true, width: 256 }, {}, {}],
    warnings: ['All files already exist; nothing was sent.'],
  })
  const { code, out, err } = await run([...words, 'A kite'])
  expect([code, out]).toEqual([0, 'x-1.png\nx-2.png\nx-3.png\nx-4.png\n'])
  expect(err).toContain('image 2 of 4 exists: 256x256 png')
  expect([sandbox.created(), sandbox.requests().length]).toEqual([1, requests])
})

test.each<[string, (path: string) => void, string]>([
  ['an empty file', (path) => writeFileSync(path, ''), 'is empty.'],
  ['a text', (path) => writeFileSync(path, 'a kite'), 'is not an image.'],
  ['a folder', (path) => mkdirSync(path), 'cannot be read: it is a folder.'],
  ['a pipe', (path) => execFileSync('mkfifo', [path]), 'is not a regular file.'],
])('--skip-existing refuses %s, and sends nothing', async (_, make, problem) => {
  const { run, cwd, sandbox } = await scene()
  make(join(cwd, 'x-1.png'))
  const words = ['create', ...quick, '-n', '2', '-o', 'x-{index}.png', '--skip-existing', 'A kite']
  expect([await run(words), sandbox.created()]).toMatchObject([
    {
      code: 10,
      out: '',
      err:
        `modelgate: "x-1.png" ${problem}\n` +
        '  hint: --skip-existing takes it for an image that was made. Remove it, or choose another name.\n',
    },
    0,
  ])
})
