import { expect, test } from 'vitest'
import { noisyPng } from '../../support/image-bytes.ts'
import { memorySink } from '../../support/memory-sink.ts'
import { given } from './image-run.ts'
import { completed, images, partial, red, stream } from './replies.ts'

const create = (...words: readonly string[]) => ['create', '-m', 'm', ...words, '-o', 'x.png', 'A kite']

test('partial images are shown as they are, whatever their length', async () => {
  // Several blocks of decoded bytes long.
  const long = noisyPng(700, 500)
  const { run } = await given(stream([partial(long), completed(long)]))
  const { code, err } = await run(create('--stream', '--preview', 'kitty'), { terminal: true })
  // As kitty's protocol sends them.
  const [, ...pictures] = err
    .split(/(?=\x1b_Ga=T)/)
    .map((text) => text.replaceAll(/[^]*?\x1b_G[^;]*;([^\x1b]*)\x1b\\[^\x1b]*/g, '$1'))
  expect([code, pictures.length, new Set(pictures).size]).toEqual([0, 2, 1])
  expect(err).toContain('preview 1\n')
})

test.each([
  ['on one terminal: by the result', true, ''],
  ['where the result goes elsewhere: by a caption', false, 'x.png\n'],
])('below its picture the path of an image is told once, %s', async (_, isTerminal, caption) => {
  const { run } = await given(images(red))
  const { code, out, err } = await run(create('--preview', 'kitty'), {
    stdout: memorySink({ isTerminal }),
    stderr: memorySink({ isTerminal: true }),
  })
  expect([code, out, err]).toEqual([0, 'x.png\n', expect.stringContaining('\x1b_Ga=T')])
  expect(err.match(/x\.png\n/g)?.join('') ?? '').toBe(caption)
})

test.each([
  [[], false],
  [['--preview', 'off'], true],
  [['-q'], true],
  [['--json'], true],
  [['--jsonl'], true],
])('no picture is shown with %j, on a terminal: %s', async (words, terminal) => {
  const { run } = await given(images(red))
  const { code, out, err } = await run(create('--preview', 'kitty', ...words), { terminal })
  expect([code, out + err]).toEqual([0, expect.not.stringContaining('\x1b_G')])
})
