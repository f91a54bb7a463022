import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sidecarPath, writeSidecar, type ImageRecord } from '../../src/files/sidecar.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'

const file = { path: 'out/hero.png', bytes: 20, sha256: 'bb', mime_type: 'image/png' }
const record: ImageRecord = {
  command: 'image edit',
  model: 'image-model-a',
  prompt: 'A red fox — “Grüße”',
  revised_prompt: null,
  parameters: { size: '1024x1024', n: 1 },
  request_id: 'req_1',
  usage: { total_tokens: 3 },
  inputs: [{ field: 'image', path: '../fox.png', bytes: 10, sha256: 'aa' }],
  output: { ...file, format: 'png', width: 1024, height: 1024, verified: true },
}

test('the record is beside its image and says everything about it', async () => {
  const folder = temporaryFolder()
  writeFiles(folder, { 'out/hero.png': '' })
  const saved = await writeSidecar(testContext({ cwd: folder }), record, { force: false, clean: String })
  expect(saved).toMatchObject({ path: 'out/hero.png.json', mime_type: 'application/json' })
  const text = readFileSync(join(folder, saved.path), 'utf8')
  expect(text.endsWith('}\n')).toBe(true)
  expect(JSON.parse(text)).toEqual({
    version: 2,
    generator: expect.stringMatching(/^modelgate \d/),
    time: '2026-01-01T00:00:00.000Z',
    ...record,
    output: { ...record.output, path: 'hero.png' },
  })
})

test('a record that exists stays, unless it may be replaced', async () => {
  const folder = temporaryFolder()
  writeFiles(folder, { 'out/hero.png.json': 'mine' })
  const context = testContext({ cwd: folder })
  const second = await writeSidecar(context, record, { force: false, clean: String })
  expect(second.path).toBe('out/hero.png-2.json')
  expect(readFileSync(join(folder, 'out/hero.png.json'), 'utf8')).toBe('mine')
  await writeSidecar(context, record, { force: true, clean: String })
  expect(JSON.parse(readFileSync(join(folder, 'out/hero.png.json'), 'utf8'))).toMatchObject({ version: 2 })
  expect(readdirSync(join(folder, 'out')).toSorted()).toEqual(['hero.png-2.json', 'hero.png.json'])
})

test('images that differ only in their type have records of their own', () => {
  expect(sidecarPath('a/hero.png')).not.toBe(sidecarPath('a/hero.webp'))
})
