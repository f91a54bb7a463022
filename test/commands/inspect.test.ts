import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { InspectionDocument } from '../../src/events/inspection.ts'
import { inspectBytes } from '../../src/files/inspect-file.ts'
import { recordCall } from '../support/call-records.ts'
import { foreignBox, signedFiles } from '../support/content-credential-bytes.ts'
import { gifBytes, pngBytes } from '../support/image-bytes.ts'
import { runMain } from '../support/run-main.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { webmBytes } from '../support/video-bytes.ts'

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const png = pngBytes({ width: 3, height: 2 })

function folderWith(files: Readonly<Record<string, Uint8Array | string>>): string {
  const folder = temporaryFolder()
  writeFiles(folder, files)
  return folder
}

async function inspected(cwd: string, ...paths: string[]): Promise<InspectionDocument> {
  const { out } = await runMain(['inspect', '--json', ...paths], { cwd })
  return JSON.parse(out) as InspectionDocument
}

test('for a script: a name and a value on each line', async () => {
  const cwd = folderWith({ 'boat.png': png })
  expect(await runMain(['inspect', 'boat.png'], { cwd })).toMatchObject({
    code: 0,
    out: [
      'file\tboat.png',
      'type\timage/png, 3x2, with alpha channel',
      `bytes\t${png.length}`,
      `sha256\t${sha256(png)}`,
      'state\twhole',
      'credentials\tnone (C2PA)\n',
    ].join('\n'),
    err: '',
  })
})

test('a file that is no media, is cut, or has another extension', async () => {
  const cwd = folderWith({
    'note.txt': 'hello',
    'cut.png': png.subarray(0, png.length - 8),
    'wrong.jpg': gifBytes({ width: 5, height: 4 }),
    'odd.bin': Buffer.of(0, 1, 2, 0xff),
  })
  expect(await inspected(cwd, 'note.txt', 'cut.png', 'wrong.jpg', 'odd.bin')).toMatchObject({
    files: [
      { mime_type: 'text/plain', width: null, integrity: 'unchecked', damage: null, credentials: false },
      { mime_type: 'image/png', width: 3, integrity: 'short', damage: 'the PNG data ends too early' },
      { mime_type: 'image/gif', width: 5, integrity: 'whole', damage: null },
      { mime_type: null, width: null, integrity: 'unchecked', damage: null },
    ],
  })
})

test('content credentials are told as present and not verified', async () => {
  const cwd = folderWith({ 'boat.png': signedFiles()['png']! })
  const { out } = await runMain(['inspect', 'boat.png'], { cwd })
  expect(out).toContain('\ncredentials\tpresent, not verified (C2PA)\n')
})

test.each(Object.entries(signedFiles()))(
  'credentials are found in %s, wherever its pieces end',
  async (_, bytes) => {
    for (const length of [1, 7, 19, 20, 256, bytes.length]) {
      const starts = Array.from({ length: Math.ceil(bytes.length / length) }, (_, at) => at * length)
      const pieces = starts.map((at) => bytes.subarray(at, at + length))
      expect((await inspectBytes('a', pieces)).credentials).toBe(true)
    }
  },
)

test('other JUMBF is no content credentials', async () => {
  expect((await inspectBytes('a', [Buffer.concat([png, foreignBox])])).credentials).toBe(false)
})

describe('what made a file', () => {
  const sidecar = {
    version: 2,
    generator: 'modelgate 0.1.0',
    command: 'image edit',
    model: 'image-model-a',
    prompt: '@home, "now"',
    revised_prompt: 'At home',
    parameters: { size: '1024x1024' },
    request_id: 'req_1',
    output: { path: 'boat.png', sha256: sha256(png) },
  }

  test('is in its sidecar', async () => {
    const cwd = folderWith({ 'boat.png': png, 'boat.png.json': JSON.stringify(sidecar) })
    const { command, model, prompt, revised_prompt, request_id } = sidecar
    const said = { command, model, prompt, revised_prompt, request_id }
    expect(await inspected(cwd, 'boat.png')).toMatchObject({
      files: [{ made_with: { sidecar: 'boat.png.json', ...said, again: null } }],
      warnings: [],
    })
  })

  test('is in the log, also where the file was renamed and moved', async () => {
    const cwd = folderWith({ 'moved/renamed.png': png, 'first.png': gifBytes() })
    const state = temporaryFolder()
    const env = { MODELGATE_STATE_DIR: state }
    const log = async (id: string, bytes: Uint8Array, more: object = {}) => {
      const file = { path: join(cwd, 'first.png'), bytes: bytes.length, sha256: sha256(bytes), format: 'png' }
      const call = { id: id.repeat(16), command: 'image create', cwd, model: 'image-model-a', files: [file] }
      await recordCall(state, { ...call, ...more })
    }
    const full = { arguments: ['image', 'create', 'A boat'], prompt: 'A boat', request: { prompt: 'A boat' } }
    await log('a', png, full)
    await log('b', png, full)
    await log('c', gifBytes())
    const { out } = await runMain(['inspect', '--json', 'moved/renamed.png', 'first.png'], { cwd, env })
    expect((JSON.parse(out) as InspectionDocument).files.map((file) => file.made_with)).toMatchObject([
      {
        log_id: 'b'.repeat(16),
        path: join(cwd, 'first.png'),
        sidecar: null,
        model: 'image-model-a',
        prompt: 'A boat',
        again: "modelgate image create 'A boat'",
      },
      // Recorded without its command line.
      { log_id: 'c'.repeat(16), path: null, prompt: null, again: null },
    ])
  })

  test.each([
    ['is no JSON', '{'],
    ['is of another program', JSON.stringify({ output: { sha256: sha256(png) } })],
    ['is odd', '[]'],
  ])('is not said by a file of that name that %s', async (_, text) => {
    const cwd = folderWith({ 'boat.png': png, 'boat.png.json': text })
    expect(await inspected(cwd, 'boat.png')).toMatchObject({ files: [{ made_with: null }], warnings: [] })
  })
})

test('one of several that cannot be read is exit 12, and the others are told', async () => {
  const cwd = folderWith({ 'a.png': png })
  expect(await runMain(['inspect', 'gone.png', 'a.png'], { cwd })).toMatchObject({
    code: 12,
    out: expect.stringMatching(/^file\ta\.png\n/) as string,
    err: 'modelgate: "gone.png" cannot be read: it does not exist.\n',
  })
})

test('standard input is a file, once', async () => {
  const run = (...words: string[]) => runMain(['inspect', ...words], { stdin: png })
  expect((await run('-')).out).toContain(`sha256\t${sha256(png)}\n`)
  expect([(await run('-', '-')).code, (await run('-', '--no-stdin')).code]).toEqual([2, 2])
})

test('of media in a container that has no check it is said that it cannot be judged', async () => {
  const cwd = folderWith({ 'a.webm': webmBytes, 'a.txt': 'A text.' })
  const { code, out } = await runMain(['inspect', 'a.webm', 'a.txt'], { cwd })
  const state = 'state\tcannot be judged: there is no check for this type'
  expect([code, out.match(/^state.*$/gm)]).toEqual([0, [state]])
})
