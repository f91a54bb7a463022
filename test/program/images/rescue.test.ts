import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FileError, OutputClosed } from '../../../src/errors.ts'
import { noisyPng } from '../../support/image-bytes.ts'
import { localServer } from '../../support/local-server.ts'
import { memorySink } from '../../support/memory-sink.ts'
import {
  closeDelimited,
  end,
  head,
  hold,
  readAll,
  write,
  type ServerReply,
} from '../../support/server-replies.ts'
import { canMount, mountTmpfs } from '../../support/small-disks.ts'
import type { TestOverrides } from '../../support/test-context.ts'
import { until } from '../../support/until.ts'
import { workspaceAt, given } from './image-run.ts'
import { completed, images, red, blue, resultOf } from './replies.ts'

/** Of random noise, so that it is as large as it looks: 430 kB, several writes long. */
const huge = noisyPng(600, 240)
const words = ['create', '-m', 'm', '-o', 'out/x.png', '-n', '3', 'A kite']

/** Runs `image` and changes something on the disk when it has sent its request and nothing has come. */
async function runWhile(
  items: readonly Uint8Array[],
  change: (cwd: string) => void,
  argv: readonly string[],
  more: TestOverrides = {},
) {
  const { promise: changed, resolve: go } = Promise.withResolvers<void>()
  const text = JSON.stringify(resultOf(...items))
  const first = write(head(200, { 'content-length': String(text.length) }))
  const { server, ...workspace } = await given([readAll, first, hold(changed), write(text), end])
  mkdirSync(join(workspace.cwd, 'out'))
  const ended = workspace.run(['create', '-m', 'm', ...argv, 'A kite'], more)
  await until(() => server.taken > 0)
  change(workspace.cwd)
  go()
  return { workspace, ...(await ended) }
}

/** The reply to a GET of a picture. */
const picture = (bytes: Uint8Array): ServerReply => [
  readAll,
  write(head(200, { 'content-type': 'image/png', 'content-length': String(bytes.length) })),
  write(bytes),
  end,
]

test.skipIf(!canMount).each([
  ['a document', async () => localServer([images(red, huge, blue)])],
  [
    'a stream',
    async () => {
      const body = completed(red) + completed(huge) + completed(blue)
      return localServer([
        [readAll, write(head(200, { 'content-type': 'text/event-stream' })), write(body), end],
      ])
    },
  ],
  [
    'addresses',
    async () => {
      const items = ['/1', '/2', '/3'].map((url) => ({ url }))
      return localServer([images(...items), picture(red), picture(huge), picture(blue)])
    },
  ],
])('of %s, the image for which there is no space is rescued, and the others are saved', async (_, serve) => {
  const workspace = workspaceAt(await serve())
  mountTmpfs(join(workspace.cwd, 'out'), 64)
  const { code, out, err } = await workspace.run(words)
  expect([code, out]).toEqual([12, 'out/x-1.png\nout/x-3.png\n'])
  expect(err).toMatch(
    /^image 2 failed: "out\/x-2\.png" cannot be written: there is no space left\. It is kept in "\/.*\/rescued\/\d{8}T\d{6}-x-2\.png" instead\.$/m,
  )
  expect(err).toMatch(/^modelgate: 1 of 3 images failed\.$/m)
  expect(workspace.rescued()).toEqual(new Map([['x-2.png', huge]]))
  expect(workspace.read('out/x-1.png').equals(red)).toBe(true)
  expect(workspace.read('out/x-3.png').equals(blue)).toBe(true)
})

test.skipIf(!canMount)('the only image for which there is no space is rescued, exit 10', async () => {
  const workspace = await given(images(huge), images(huge))
  mountTmpfs(join(workspace.cwd, 'out'), 64)
  const only = ['create', '-m', 'm', '-o', 'out/x.png', 'A kite']
  const plain = await workspace.run(only)
  expect([plain.code, plain.out]).toEqual([10, ''])
  const told = plain.err.split('\n').filter((line) => line.includes('rescued'))
  expect(told).toEqual([
    expect.stringMatching(/^modelgate: "out\/x\.png" cannot be written: .*-x\.png" instead\.$/),
  ])
  expect(plain.err).toContain('The request was billed.')
  const { code, out } = await workspace.run([...only, '--jsonl'])
  expect(code).toBe(10)
  const last = JSON.parse(out.trim().split('\n').at(-1)!)
  expect(last).toMatchObject({ type: 'error', error: { code: 'no_space', exit_code: 10, billed: 'yes' } })
  expect(last.error.rescued).toEqual([expect.stringMatching(/\/rescued\/\d{8}T\d{6}-x-2\.png$/)])
  // Two runs within one second.
  expect(workspace.rescued()).toEqual(
    new Map([
      ['x.png', huge],
      ['x-2.png', huge],
    ]),
  )
})

test.skipIf(!canMount)('where the rescue fails too, the error says so and the others go on', async () => {
  const { cwd, run } = await given(images(red, huge, blue))
  mountTmpfs(join(cwd, 'out'), 64)
  const state = join(cwd, 'out', 'state')
  const { code, out, err } = await run(words, { env: { MODELGATE_STATE_DIR: state } })
  expect([code, out]).toEqual([12, 'out/x-1.png\nout/x-3.png\n'])
  expect(err).toMatch(
    /^image 2 failed: "out\/x-2\.png" cannot be written: there is no space left\. It could not be rescued either: ".*x-2\.png" cannot be written: there is no space left\.$/m,
  )
  expect(readdirSync(join(state, 'rescued'))).toEqual([])
})

test('a name that has become a folder keeps only its own image from its place', async () => {
  const change = (cwd: string) => mkdirSync(join(cwd, 'out/x-1.png'))
  const { workspace, code, out, err } = await runWhile([red, blue], change, ['-o', 'out/x.png', '-n', '2'])
  expect([code, out]).toEqual([12, 'out/x-2.png\n'])
  expect(err).toMatch(/^image 1 failed: "out\/x-1\.png" cannot be written: it is a folder\. It is kept in /m)
  expect(workspace.rescued()).toEqual(new Map([['x-1.png', red]]))
})

test.each([
  ['at once', 0],
  ['in the middle', 100_000],
  ['at its last byte', huge.length - 1],
])('an image that standard output refuses %s is rescued whole', async (_, bytes) => {
  const workspace = await given(images(huge))
  const stdout = memorySink()
  stdout.fail(new FileError('write_failed', 'Standard output cannot be written: no space left.'), bytes)
  const { code, err } = await workspace.run(['create', '-m', 'm', '-o', '-', 'A kite'], { stdout })
  expect(code).toBe(10)
  expect(err).toMatch(
    /^modelgate: Standard output cannot be written: no space left\. The image is kept in "\/.*\/rescued\/\d{8}T\d{6}-image\.png"\.$/m,
  )
  expect(err).toContain('The request was billed.')
  expect(workspace.rescued()).toEqual(new Map([['image.png', huge]]))
})

test.each([
  ['document', (text: string) => closeDelimited([text]), ''],
  ['document that is cut', (text: string) => closeDelimited([text.slice(0, -20)]), 'warning: '],
])('--raw of a %s that standard output does not take is rescued', async (_, reply, lead) => {
  const text = JSON.stringify(resultOf(huge))
  const { run, rescued } = await given(reply(text))
  const stdout = memorySink()
  stdout.fail(new FileError('write_failed', 'Standard output cannot be written: no space left.'), 100_000)
  const { code, out, err } = await run(['create', '-m', 'm', '--raw', 'A kite'], { stdout })
  expect(code).toBe(lead === '' ? 10 : 7)
  expect(err).toMatch(
    /^(?:modelgate|warning): Standard output cannot be written: .* What was not written is kept in \/.*-image-create\.txt\.$/m,
  )
  const [[name, rest] = []] = rescued()
  expect(name).toBe('image-create.txt')
  // It begins with the piece of which standard output took only a part.
  const whole = lead === '' ? text : text.slice(0, -20)
  expect(whole.startsWith(out)).toBe(true)
  expect(`${whole}\n`.endsWith(String(rest))).toBe(true)
  expect(out.length + rest!.length).toBeGreaterThanOrEqual(whole.length)
})

test('the reader of standard output may go: nothing is rescued', async () => {
  const { run, rescued } = await given(images(huge))
  const stdout = memorySink()
  stdout.fail(new OutputClosed(), 100_000)
  expect(await run(['create', '-m', 'm', '-o', '-', 'A kite'], { stdout })).toMatchObject({
    code: 0,
    err: '',
  })
  expect(rescued()).toEqual(new Map())
})

test('a record that cannot be written beside its image is a warning', async () => {
  const change = (cwd: string) => mkdirSync(join(cwd, 'out/x.png.json'))
  const { code, out, err } = await runWhile([red], change, ['-o', 'out/x.png', '--sidecar'])
  expect([code, out]).toEqual([0, 'out/x.png\n'])
  expect(err).toMatch(
    /^warning: The record of out\/x\.png is not kept: "out\/x\.png\.json" cannot be written: it is a folder\.$/m,
  )
})
