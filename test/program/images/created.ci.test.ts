import { expect, test } from 'vitest'
import { readImageInfo } from '../../../src/files/image-info.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { writeFiles } from '../../support/temporary-folder.ts'
import { workspaceAt } from '../workspace.ts'
import { quick, quickUrl } from './image-run.ts'

async function scene() {
  const { run, ...workspace } = workspaceAt(await runningSandbox(), ['image'])
  return { ...workspace, create: (...words: string[]) => run(['create', ...words, 'A red kite']) }
}
const stream = (partials: number) => ['--stream', '--partial-images', String(partials)]

test('one image: its path on standard output, what it is on standard error', async () => {
  const { create, files, read } = await scene()
  const { code, out, err } = await create(...quick)
  const [path = ''] = files()
  expect([code, out, files().length]).toEqual([0, `${path}\n`, 1])
  expect(path).toMatch(/^a-red-kite-[0-9a-f]{8}\.png$/)
  expect(readImageInfo(read(path))).toMatchObject({ format: 'png', width: 1024, height: 1024 })
  expect(err).toBe(`image 1: 1024x1024 png, ${read(path).length} bytes\n`)
})

test.each([
  ['kept.webp', 'webp'],
  ['kept.mp4', 'video/mp4'],
])('what an unknown model sends is kept as %s, with a warning', async (name, named) => {
  const { create, read } = await scene()
  const { code, out, err } = await create('-m', 'my-own', '-o', name)
  expect([code, out, readImageInfo(read(name))?.format]).toEqual([0, `${name}\n`, 'png'])
  expect(err).toContain(`warning: ${name} contains a png image, although its name says ${named}.\n`)
})

test('--no-download of an image that comes whole saves it, and says so', async () => {
  const { create, files } = await scene()
  const { code, out, err } = await create(...quick, '--no-download')
  expect([code, files()]).toEqual([0, [out.trimEnd()]])
  expect(err).toContain('warning: The gateway sent the image itself in place of a URL, so it was saved.')
})

test('-o - writes the image to standard output and nothing else, also of a stream with partial ones', async () => {
  for (const words of [quickUrl, [...quick, ...stream(2)]]) {
    const [saved, piped] = [await scene(), await scene()]
    await saved.create(...words, '-o', 'x.png')
    const { code, bytes, err } = await piped.create(...words, '-o', '-', '-q')
    expect([code, err, piped.files(), bytes.equals(saved.read('x.png'))]).toEqual([0, '', [], true])
  }
})

test('the names of a taken automatic name are free ones, and nothing is overwritten', async () => {
  const { create, cwd, read } = await scene()
  const first = (await create(...quickUrl)).out.trimEnd()
  writeFiles(cwd, { [first]: 'mine' })
  const { code, out, err } = await create(...quickUrl)
  expect([code, out]).toEqual([0, `${first.replace('.png', '-2.png')}\n`])
  expect([err, read(first).toString()]).toEqual([expect.not.stringContaining('warning'), 'mine'])
})

test('partial images are not kept unless they are asked for', async () => {
  const { create, files } = await scene()
  const { code, out, err } = await create(...quick, ...stream(3), '-o', 'x.png')
  expect([code, out, files()]).toEqual([0, 'x.png\n', ['x.png']])
  expect(err).toMatch(
    /^image 1: preview 1 of 3\nimage 1: preview 2 of 3\nimage 1: preview 3 of 3\nimage 1: 1024x1024 png/,
  )
})

test('several images of one stream, each with its partial ones, told as they come', async () => {
  const { create, files } = await scene()
  const words = [...stream(1), '-n', '2', '--save-partials', '-o', 'x-{index}.png']
  const { code, out, err } = await create(...quick, ...words)
  expect([code, out]).toEqual([0, 'x-1.png\nx-2.png\n'])
  expect(err.match(/^image \d of 2: (?:preview 1 of 1|\d+x)/gm)).toEqual([
    'image 1 of 2: preview 1 of 1',
    'image 1 of 2: 1024x',
    'image 2 of 2: preview 1 of 1',
    'image 2 of 2: 1024x',
  ])
  expect(files()).toEqual(['x-1-partial-1.png', 'x-1.png', 'x-2-partial-1.png', 'x-2.png'])
})

test('an existing partial image is not overwritten', async () => {
  const { create, cwd, files, read } = await scene()
  writeFiles(cwd, { 'x-partial-1.png': 'mine' })
  expect((await create(...quick, ...stream(1), '--save-partials', '-o', 'x.png')).code).toBe(0)
  expect(files()).toEqual(['x-partial-1-2.png', 'x-partial-1.png', 'x.png'])
  expect(read('x-partial-1.png').toString()).toBe('mine')
})
