import { expect, test } from 'vitest'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { writeFiles } from '../../support/temporary-folder.ts'
import { quick, quickUrl, workspaceAt } from './image-run.ts'

test('one image: its path on standard output, what it is on standard error', async () => {
  const sandbox = await runningSandbox()
  const workspace = workspaceAt(sandbox)
  const { code, out, err } = await workspace.run(['create', ...quick, 'A red kite'])
  expect(code).toBe(0)
  expect(out).toMatch(/^a-red-kite-[0-9a-f]{8}\.png\n$/)
  const path = out.trimEnd()
  expect(workspace.files()).toEqual([path])
  expect(workspace.info(path)).toMatchObject({ format: 'png', width: 1024, height: 1024 })
  expect(err).toBe(`image 1: 1024x1024 png, ${workspace.read(path).length} bytes\n`)
  expect([sandbox.created(), sandbox.requests().length]).toEqual([1, 1])
})

test.each([
  ['png', 'png', '1024x1536'],
  ['webp', 'webp', '1536x1024'],
  ['jpeg', 'jpg', '1024x1024'],
] as const)('%s of %s, %s, as the file itself says', async (format, extension, size) => {
  const workspace = workspaceAt(await runningSandbox())
  const words = ['--output-format', format, '--size', size, '-o', 'x.{ext}']
  const { code, out } = await workspace.run(['create', ...quick, ...words, 'A red kite'])
  expect([code, out]).toEqual([0, `x.${extension}\n`])
  const [width, height] = size.split('x').map(Number)
  expect(workspace.info(`x.${extension}`)).toMatchObject({ format, width, height })
  const { width: decodedWidth, height: decodedHeight } = await workspace.pixels(`x.${extension}`)
  expect([decodedWidth, decodedHeight]).toEqual([width, height])
})

test.each([
  ['kept.webp', 'webp'],
  ['kept.mp4', 'video/mp4'],
])('what an unknown model sends is kept as %s, with a warning', async (name, named) => {
  const workspace = workspaceAt(await runningSandbox())
  const { code, out, err } = await workspace.run(['create', '-m', 'my-own', '-o', name, 'A red kite'])
  expect([code, out]).toEqual([0, `${name}\n`])
  expect(workspace.info(name)?.format).toBe('png')
  expect(err).toContain(`warning: ${name} contains a png image, although its name says ${named}.\n`)
})

test('results by URL are downloaded at once', async () => {
  const sandbox = await runningSandbox()
  const workspace = workspaceAt(sandbox)
  const words = ['-n', '2', '-o', 'x-{index}.{ext}']
  expect(await workspace.run(['create', ...quickUrl, ...words, 'A'])).toMatchObject({
    code: 0,
    out: 'x-1.png\nx-2.png\n',
  })
  expect(workspace.info('x-2.png')).toMatchObject({ width: 256, height: 256 })
  const paths = sandbox.requests().map(({ method, path, status }) => [method, path.slice(0, 16), status])
  expect(paths).toEqual([
    ['POST', '/v1/images/gener', 200],
    ['GET', '/sandbox/images/', 200],
    ['GET', '/sandbox/images/', 200],
  ])
  expect(sandbox.created()).toBe(1)
})

test('--no-download of an image that comes whole saves it, and says so', async () => {
  const workspace = workspaceAt(await runningSandbox())
  const { code, out, err } = await workspace.run(['create', ...quick, '--no-download', 'A red kite'])
  expect(code).toBe(0)
  expect(workspace.files()).toEqual([out.trimEnd()])
  expect(err).toContain('warning: The gateway sent the image itself in place of a URL, so it was saved.')
})

test('-o - writes the image to standard output and nothing else', async () => {
  for (const words of [quickUrl, [...quickUrl, '--response-format', 'b64_json']]) {
    const [file, stream] = [workspaceAt(await runningSandbox()), workspaceAt(await runningSandbox())]
    await file.run(['create', ...words, '-o', 'x.png', 'A red kite'])
    const { code, bytes, err } = await stream.run(['create', ...words, '-o', '-', 'A red kite'])
    expect([code, err, stream.files()]).toEqual([0, '', []])
    expect(bytes.equals(file.read('x.png'))).toBe(true)
  }
})

test('the names of a taken automatic name are free ones, and nothing is overwritten', async () => {
  const workspace = workspaceAt(await runningSandbox())
  const first = (await workspace.run(['create', ...quickUrl, 'A red kite'])).out.trimEnd()
  writeFiles(workspace.cwd, { [first]: 'mine' })
  const { code, out, err } = await workspace.run(['create', ...quickUrl, 'A red kite'])
  expect([code, out]).toEqual([0, `${first.replace('.png', '-2.png')}\n`])
  expect(err).not.toContain('warning')
  expect(workspace.read(first).toString()).toBe('mine')
})
