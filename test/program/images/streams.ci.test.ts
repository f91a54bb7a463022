import { expect, test } from 'vitest'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { writeFiles } from '../../support/temporary-folder.ts'
import { meanDifference } from '../../support/test-images.ts'
import { quick, workspaceAt } from './image-run.ts'

const stream = (partials: number) => ['--stream', '--partial-images', String(partials)]

test('partial images are not kept unless they are asked for', async () => {
  const workspace = workspaceAt(await runningSandbox())
  const { code, out, err } = await workspace.run(['create', ...quick, ...stream(3), '-o', 'x.png', 'A kite'])
  expect([code, out, workspace.files()]).toEqual([0, 'x.png\n', ['x.png']])
  expect(err).toMatch(
    /^image 1: preview 1 of 3\nimage 1: preview 2 of 3\nimage 1: preview 3 of 3\nimage 1: 1024x1024 png/,
  )
})

test('several images of one stream, each with its partial ones', async () => {
  const workspace = workspaceAt(await runningSandbox())
  const words = [...stream(1), '-n', '3', '--save-partials', '-o', 'x-{index}.png']
  const { code, out, err } = await workspace.run(['create', ...quick, ...words, 'A kite'])
  expect([code, out]).toEqual([0, 'x-1.png\nx-2.png\nx-3.png\n'])
  // Each is told as soon as it is there.
  expect(err.match(/^image \d of 3: (?:preview 1 of 1|\d+x)/gm)).toEqual(
    [1, 2, 3].flatMap((index) => [`image ${index} of 3: preview 1 of 1`, `image ${index} of 3: 1024x`]),
  )
  expect(workspace.files()).toEqual([
    'x-1-partial-1.png',
    'x-1.png',
    'x-2-partial-1.png',
    'x-2.png',
    'x-3-partial-1.png',
    'x-3.png',
  ])
  for (const index of [1, 2, 3]) {
    const [partial, final] = [`x-${index}-partial-1.png`, `x-${index}.png`]
    const own = meanDifference(await workspace.pixels(final), await workspace.pixels(partial))
    const next = `x-${(index % 3) + 1}.png`
    expect(own).toBeLessThan(meanDifference(await workspace.pixels(next), await workspace.pixels(partial)))
  }
})

test('the image may come before its partial ones', async () => {
  const sandbox = await runningSandbox()
  const workspace = workspaceAt(sandbox)
  const words = [...stream(2), '--save-partials', '-o', 'x.png']
  const { code, out } = await workspace.run(['create', ...quick, ...words, '[sandbox:early] A kite'])
  expect([code, out]).toEqual([0, 'x.png\n'])
  expect(workspace.files()).toEqual(['x-partial-1.png', 'x-partial-2.png', 'x.png'])
  expect(sandbox.created()).toBe(1)
})

test('partial images with -o - do not mix with the image', async () => {
  const workspace = workspaceAt(await runningSandbox())
  const { code, bytes } = await workspace.run(['create', ...quick, ...stream(2), '-o', '-', 'A kite'])
  await workspace.run(['create', ...quick, '-o', 'x.png', 'A kite'])
  expect(code).toBe(0)
  expect(bytes.equals(workspace.read('x.png'))).toBe(true)
})

test('an existing partial image is not overwritten', async () => {
  const workspace = workspaceAt(await runningSandbox())
  writeFiles(workspace.cwd, { 'x-partial-1.png': 'mine' })
  const words = [...stream(1), '--save-partials', '-o', 'x.png']
  expect((await workspace.run(['create', ...quick, ...words, 'A kite'])).code).toBe(0)
  expect(workspace.read('x-partial-1.png').toString()).toBe('mine')
  expect(workspace.files()).toEqual(['x-partial-1-2.png', 'x-partial-1.png', 'x.png'])
})
