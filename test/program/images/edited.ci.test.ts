import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { decodeImage } from '../../../src/files/codecs.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { writeFiles } from '../../support/temporary-folder.ts'
import { largestDifference, maskPng, testImages } from '../../support/test-images.ts'
import { quick, workspaceAt, type Workspace } from './image-run.ts'

/** A workspace with pictures; those of model A's own size are not scaled. */
async function editWorkspace(side = 64): Promise<{
  workspace: Workspace
  sandbox: Awaited<ReturnType<typeof runningSandbox>>
}> {
  const sandbox = await runningSandbox()
  const workspace = workspaceAt(sandbox)
  const { png, jpeg, webp } = await testImages(side)
  writeFiles(workspace.cwd, {
    'in.png': png,
    'in.jpg': jpeg,
    'in.webp': webp,
    'mask.png': await maskPng(side),
  })
  return { workspace, sandbox }
}

test('several images of all types are sent in their order, and the first is edited', async () => {
  const { workspace, sandbox } = await editWorkspace(1024)
  const images = '--image in.png --image in.webp --image in.jpg --mask mask.png'.split(' ')
  const { code, out } = await workspace.run(['edit', ...quick, ...images, '--json', '-o', 'x.png', 'A'])
  expect(code).toBe(0)
  // Every source counts 645 tokens.
  expect(JSON.parse(out)).toMatchObject({ files: [{ path: 'x.png' }] })
  const corner = (x: number, y: number) => x < 200 && y < 200
  expect(largestDifference(await workspace.pixels('in.png'), await workspace.pixels('x.png'), corner)).toBe(0)
  expect(sandbox.created()).toBe(1)
})

const run = promisify(execFile)
/** curl has its headers among its arguments, where no other key of a test may be. */
const keyOfCurl = 'some-key-0123'

test('--curl is a command that creates the same edit', async () => {
  const { workspace, sandbox } = await editWorkspace()
  writeFiles(workspace.cwd, { 'it\'s "odd" $HOME;type=x.png': workspace.read('in.png') })
  const name = 'it\'s "odd" $HOME;type=x.png'
  const fields = ['--user', 'me; type=text/html \'q\' "d" @file <file', '-n', '1', '--output-format', 'webp']
  const images = ['--image', name, '--image', 'in.jpg', '--mask', 'mask.png']
  const words = ['edit', ...quick, ...fields, ...images, 'Ödd \'"\\ $(touch pwned) `touch pwned`\n@in.png']
  const { code, out } = await workspace.run([...words, '--curl'])
  expect([code, sandbox.requests().length]).toEqual([0, 0])
  const options = {
    cwd: workspace.cwd,
    maxBuffer: 1e8,
    env: { ...process.env, MODELGATE_API_KEY: keyOfCurl },
  }
  const { stdout } = await run('bash', ['-c', out.replace('curl ', 'curl --silent ')], options)
  const reply = JSON.parse(stdout) as { data: { b64_json: string }[] }
  expect(sandbox.requests()).toMatchObject([{ status: 200, created: true, model: 'gpt-image-2' }])
  const { width } = await decodeImage(Buffer.from(reply.data[0]!.b64_json, 'base64'), 'image/webp')
  expect(width).toBe(1024)
  expect(workspace.files()).not.toContain('pwned')
  // The same seed and the same words: what the program makes of them is the same picture.
  const other = workspaceAt(await runningSandbox())
  for (const file of [name, 'in.jpg', 'mask.png']) writeFiles(other.cwd, { [file]: workspace.read(file) })
  expect((await other.run([...words, '-o', 'same.webp'])).code).toBe(0)
  expect(other.read('same.webp').equals(Buffer.from(reply.data[0]!.b64_json, 'base64'))).toBe(true)
})

test('--dry-run shows every part with its type and size, and sends nothing', async () => {
  const { workspace, sandbox } = await editWorkspace()
  const images = ['--image', 'in.png', '--image', 'in.jpg', '--mask', 'mask.png']
  const words = ['edit', ...quick, ...images, '-n', '2', '--dry-run', 'A red kite']
  const { code, out } = await workspace.run(words)
  expect(code).toBe(0)
  const bytes = (name: string) => workspace.read(name).length
  const file = (name: string, path: string, media_type: string) => {
    return { name, path, file_name: path, media_type, bytes: bytes(path) }
  }
  const { method, url, headers, parts } = JSON.parse(out) as Record<string, unknown>
  expect([method, url]).toEqual(['POST', `${sandbox.url}/v1/images/edits`])
  expect(headers).toMatchObject({
    authorization: 'Bearer <hidden>',
    'content-type': expect.stringMatching(/^multipart\/form-data; boundary=/),
  })
  expect(parts).toEqual(
    expect.arrayContaining([
      { name: 'prompt', value: 'A red kite' },
      { name: 'n', value: '2' },
      { name: 'quality', value: 'low' },
      { name: 'model', value: 'gpt-image-2' },
      file('image[]', 'in.png', 'image/png'),
      file('image[]', 'in.jpg', 'image/jpeg'),
      file('mask', 'mask.png', 'image/png'),
    ]),
  )
  expect((parts as unknown[]).length).toBe(7)
  expect([sandbox.requests().length, workspace.files().length]).toEqual([0, 4])
})
