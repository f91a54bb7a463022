import { expect, test } from 'vitest'
import { noisyPng } from '../../support/image-bytes.ts'
import { memorySink } from '../../support/memory-sink.ts'
import { given } from './image-run.ts'
import { completed, images, partial, red, stream } from './replies.ts'

/** Several blocks of decoded bytes long. */
const long = noisyPng(700, 500)

/** The pictures on a terminal, as kitty's protocol sends them. */
const picturesIn = (err: string) =>
  err
    .split(/(?=\x1b_Ga=T)/)
    .slice(1)
    .map((text) => text.replaceAll(/[^]*?\x1b_G[^;]*;([^\x1b]*)\x1b\\[^\x1b]*/g, '$1'))

test('partial images are shown as they are, whatever their length', async () => {
  const { run } = await given(stream([partial(long), completed(long)]))
  const words = ['create', '-m', 'm', '--stream', '--preview', 'kitty', '-o', 'x.png', 'A kite']
  const { code, err } = await run(words, { terminal: true })
  expect(code).toBe(0)
  const pictures = picturesIn(err)
  expect(pictures.length).toBe(2)
  expect(pictures[0]).toBe(pictures[1])
  expect(err).toContain('preview 1\n')
})

test.each([
  ['on one terminal: by the result', true, ''],
  ['where the result goes elsewhere: by a caption', false, 'x.png\n'],
])('below its picture the path of an image is told once, %s', async (_, isTerminal, caption) => {
  const { run } = await given(images(red))
  const words = ['create', '-m', 'm', '--preview', 'kitty', '-o', 'x.png', 'A kite']
  const { code, out, err } = await run(words, {
    stdout: memorySink({ isTerminal }),
    stderr: memorySink({ isTerminal: true }),
  })
  expect([code, out]).toEqual([0, 'x.png\n'])
  expect(err).toContain('\x1b_Ga=T')
  expect(err.match(/x\.png\n/g)?.join('') ?? '').toBe(caption)
})

test.each<[string, readonly string[], boolean]>([
  ['in a pipe', ['--preview', 'kitty'], false],
  ['with --preview off', ['--preview', 'off'], true],
  ['with --quiet', ['--preview', 'kitty', '-q'], true],
  ['with --json', ['--preview', 'kitty', '--json'], true],
  ['with --jsonl', ['--preview', 'kitty', '--jsonl'], true],
])('no picture is shown %s', async (_, words, terminal) => {
  const { run } = await given(images(red))
  const argv = ['create', '-m', 'm', ...words, '-o', 'x.png', 'A kite']
  const { code, out, err } = await run(argv, { terminal })
  expect(code).toBe(0)
  expect(out + err).not.toContain('\x1b_G')
})
