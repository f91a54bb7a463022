import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { decodeImage } from '../../../src/files/codecs.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { writeFiles } from '../../support/temporary-folder.ts'
import { largestDifference, maskPng, testImages } from '../../support/test-images.ts'
import { workspaceAt } from '../workspace.ts'
import { quick } from './image-run.ts'

const odd = 'it\'s "odd" $HOME;type=x.png'

/** A workspace with pictures; those of model A's own size are not scaled. */
async function scene(side = 64) {
  const sandbox = await runningSandbox()
  const { run, ...workspace } = workspaceAt(sandbox, ['image'])
  const { png, jpeg, webp } = await testImages(side)
  const mask = await maskPng(side)
  writeFiles(workspace.cwd, { 'in.png': png, [odd]: png, 'in.jpg': jpeg, 'in.webp': webp, 'mask.png': mask })
  return { ...workspace, sandbox, edit: (words: readonly string[]) => run(['edit', ...quick, ...words]) }
}

test('several images of all types are sent in their order, and the first is edited', async () => {
  const { edit, sandbox, read } = await scene(1024)
  const pixels = (name: string) => decodeImage(read(name), 'image/png')
  const images = '--image in.png --image in.webp --image in.jpg --mask mask.png'.split(' ')
  expect(await edit([...images, '-o', 'x.png', 'A'])).toMatchObject({ code: 0, out: 'x.png\n' })
  const corner = (x: number, y: number) => x < 200 && y < 200
  expect(largestDifference(await pixels('in.png'), await pixels('x.png'), corner)).toBe(0)
  expect(sandbox.created()).toBe(1)
})

test('--curl is a command that creates the same edit', async () => {
  const { edit, sandbox, cwd, files } = await scene()
  const fields = ['--user', 'me; type=text/html \'q\' "d" @file <file', '-n', '1', '--output-format', 'webp']
  const images = ['--image', odd, '--image', 'in.jpg', '--mask', 'mask.png']
  const words = [...fields, ...images, 'Ödd \'"\\ $(touch pwned) `touch pwned`\n@in.png']
  const { code, out } = await edit([...words, '--curl'])
  expect([code, sandbox.requests().length]).toEqual([0, 0])
  // curl has its headers among its arguments, where no other key of a test may be.
  const env = { ...process.env, MODELGATE_API_KEY: 'some-key-0123' }
  const script = out.replace('curl ', 'curl --silent ')
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd, maxBuffer: 1e8, env })
  const { data } = JSON.parse(stdout) as { data: { b64_json: string }[] }
  expect(sandbox.requests()).toMatchObject([{ status: 200, created: true, model: 'gpt-image-2' }])
  expect(files()).not.toContain('pwned')
  // The same seed and the same words: what the program makes of them is the same picture.
  const other = await scene()
  expect((await other.edit([...words, '-o', 'same.webp'])).code).toBe(0)
  expect(other.read('same.webp').equals(Buffer.from(data[0]!.b64_json, 'base64'))).toBe(true)
})

test('--dry-run shows every part with its type and size, and sends nothing', async () => {
  const { edit, sandbox, files, read } = await scene()
  const images = ['--image', 'in.png', '--image', 'in.jpg', '--mask', 'mask.png']
  const { code, out } = await edit([...images, '-n', '2', '--dry-run', 'A red kite'])
  const file = (name: string, path: string, media_type: string) => {
    return { name, path, file_name: path, media_type, bytes: read(path).length }
  }
  const { parts, ...request } = JSON.parse(out) as { parts: { name: string }[] }
  expect([code, request]).toMatchObject([
    0,
    {
      method: 'POST',
      url: `${sandbox.url}/v1/images/edits`,
      headers: {
        authorization: 'Bearer <hidden>',
        'content-type': expect.stringMatching(/^multipart\/form-data; boundary=/),
      },
    },
  ])
  expect(parts.toSorted((a, b) => a.name.localeCompare(b.name))).toEqual([
    file('image[]', 'in.png', 'image/png'),
    file('image[]', 'in.jpg', 'image/jpeg'),
    file('mask', 'mask.png', 'image/png'),
    { name: 'model', value: 'gpt-image-2' },
    { name: 'n', value: '2' },
    { name: 'prompt', value: 'A red kite' },
    { name: 'quality', value: 'low' },
  ])
  expect([sandbox.requests().length, files().length]).toEqual([0, 5])
})
