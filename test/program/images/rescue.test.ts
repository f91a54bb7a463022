import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FileError, OutputClosed } from '../../../src/errors.ts'
import { noisyPng } from '../../support/image-bytes.ts'
import { memorySink } from '../../support/memory-sink.ts'
import { closeDelimited, type ServerReply } from '../../support/server-replies.ts'
import { canMount, mountTmpfs } from '../../support/small-disks.ts'
import { given, rescuedIn } from './image-run.ts'
import { completed, file, images, red, blue, resultOf, stream } from './replies.ts'

/** Of random noise, so that it is as large as it looks: 430 kB, several writes long. */
const huge = noisyPng(600, 240)
const words = ['create', '-m', 'm', '-o', 'out/x.png', '-n', '3', 'A kite']
const noSpace = (path: string) => String.raw`"${path}" cannot be written: there is no space left\.`

test.skipIf(!canMount).each<[string, ...ServerReply[]]>([
  ['a document', images(red, huge, blue)],
  ['a stream', stream([completed(red) + completed(huge) + completed(blue)])],
  [
    'addresses',
    images({ url: '/1' }, { url: '/2' }, { url: '/3' }),
    ...[red, huge, blue].map((bytes) => file(bytes)),
  ],
])(
  'of %s, the image for which there is no space is rescued, and the others are saved',
  async (_, ...replies) => {
    const { cwd, state, run, read } = await given(...replies)
    mountTmpfs(join(cwd, 'out'), 64)
    const { code, out, err } = await run(words)
    expect([code, out]).toEqual([12, 'out/x-1.png\nout/x-3.png\n'])
    const kept = String.raw`It is kept in "/.*/rescued/\d{8}T\d{6}-x-2\.png" instead\.`
    expect(err).toMatch(new RegExp(`^image 2 failed: ${noSpace('out/x-2.png')} ${kept}$`, 'm'))
    expect(err).toMatch(/^modelgate: 1 of 3 images failed\.$/m)
    expect(rescuedIn(state)).toEqual(new Map([['x-2.png', huge]]))
    expect([read('out/x-1.png').equals(red), read('out/x-3.png').equals(blue)]).toEqual([true, true])
  },
)

test.skipIf(!canMount)('the only image for which there is no space is rescued, exit 10', async () => {
  const { cwd, state, run } = await given(images(huge), images(huge))
  mountTmpfs(join(cwd, 'out'), 64)
  const only = ['create', '-m', 'm', '-o', 'out/x.png', 'A kite']
  const plain = await run(only)
  expect([plain.code, plain.out, plain.err.match(/rescued/g)]).toEqual([10, '', ['rescued']])
  expect(plain.err).toMatch(new RegExp(`^modelgate: ${noSpace('out/x.png')} .*-x\\.png" instead\\.$`, 'm'))
  expect(plain.err).toContain('The request was billed.')
  const { code, out } = await run([...only, '--jsonl'])
  expect([code, JSON.parse(out.trim().split('\n').at(-1)!)]).toMatchObject([
    10,
    {
      type: 'error',
      error: {
        code: 'no_space',
        exit_code: 10,
        billed: 'yes',
        rescued: [expect.stringMatching(/\/rescued\/\d{8}T\d{6}-x\.png$/)],
      },
    },
  ])
  expect(rescuedIn(state)).toEqual(new Map([['x.png', huge]]))
})

test.skipIf(!canMount)('where the rescue fails too, the error says so and the others go on', async () => {
  const { cwd, run } = await given(images(red, huge, blue))
  mountTmpfs(join(cwd, 'out'), 64)
  const env = { MODELGATE_STATE_DIR: join(cwd, 'out/state'), MODELGATE_HISTORY: 'off' }
  const { code, out, err } = await run(words, { env })
  expect([code, out]).toEqual([12, 'out/x-1.png\nout/x-3.png\n'])
  const failed = `It could not be rescued either: ${noSpace('.*x-2.png')}`
  expect(err).toMatch(new RegExp(`^image 2 failed: ${noSpace('out/x-2.png')} ${failed}$`, 'm'))
  expect(readdirSync(join(cwd, 'out/state/rescued'))).toEqual([])
})

const full = new FileError('write_failed', 'Standard output cannot be written: no space left.')

/** Standard output that takes so many bytes. */
function failing(error: Error, bytes: number) {
  const stdout = memorySink()
  stdout.fail(error, bytes)
  return { stdout }
}

test.each([
  ['at once', 0],
  ['in the middle', 100_000],
  ['at its last byte', huge.length - 1],
])('an image that standard output refuses %s is rescued whole', async (_, bytes) => {
  const { run, state } = await given(images(huge))
  const { code, err } = await run(['create', '-m', 'm', '-o', '-', 'A kite'], failing(full, bytes))
  expect(code).toBe(10)
  expect(err).toMatch(
    /^modelgate: Standard output cannot be written: no space left\. The image is kept in "\/.*\/rescued\/\d{8}T\d{6}-image\.png"\.$/m,
  )
  expect(err).toContain('The request was billed.')
  expect(rescuedIn(state)).toEqual(new Map([['image.png', huge]]))
})

const whole = JSON.stringify(resultOf(huge))

test.each([
  ['document', whole, 10],
  ['document that is cut', whole.slice(0, -20), 7],
])('--raw of a %s that standard output does not take is rescued', async (_, body, exit) => {
  const { run, state } = await given(closeDelimited([body]))
  const { code, out, err } = await run(['create', '-m', 'm', '--raw', 'A kite'], failing(full, 100_000))
  expect(code).toBe(exit)
  expect(err).toMatch(
    /^(?:modelgate|warning): Standard output cannot be written: .* What was not written is kept in \/.*-image-create\.txt\.$/m,
  )
  // It begins with the piece of which standard output took only a part.
  const rest = rescuedIn(state).get('image-create.txt')!
  expect([body.startsWith(out), `${body}\n`.endsWith(String(rest))]).toEqual([true, true])
  expect(out.length + rest.length).toBeGreaterThanOrEqual(body.length)
})

test('the reader of standard output may go: nothing is rescued', async () => {
  const { run, state } = await given(images(huge))
  const words = ['create', '-m', 'm', '-o', '-', 'A kite']
  expect(await run(words, failing(new OutputClosed(), 100_000))).toMatchObject({ code: 0, err: '' })
  expect(rescuedIn(state)).toEqual(new Map())
})
