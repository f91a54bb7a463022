import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Interrupted } from '../../../src/errors.ts'
import { until } from '../../support/until.ts'
import {
  chunk,
  deaf,
  end,
  head,
  hold,
  readAll,
  readHead,
  reset,
  stall,
  text,
  write,
} from '../../support/server-replies.ts'
import { writeFiles } from '../../support/temporary-folder.ts'
import { paddedPng } from '../../support/test-images.ts'
import { given } from './image-run.ts'
import { completed, file, images, large, partial, red, resultOf } from './replies.ts'

const create = ['create', '-m', 'm', '-o', 'x.png', 'A kite']

/** Runs `image` and changes something on the disk when it has sent its request and nothing of this has come. */
async function runWhile(body: string, change: (cwd: string) => void, words: readonly string[]) {
  const { promise: changed, resolve: go } = Promise.withResolvers<void>()
  const headers = { 'content-length': String(body.length) }
  const { server, ...workspace } = await given([
    readAll,
    write(head(200, headers)),
    hold(changed),
    write(body),
    end,
  ])
  mkdirSync(join(workspace.cwd, 'out'))
  const ended = workspace.run(words)
  await until(() => server.taken > 0)
  change(workspace.cwd)
  go()
  return { ...workspace, ...(await ended) }
}

test('a file that appears while the image comes stays, and the image gets the next name', async () => {
  const change = (cwd: string) => writeFiles(cwd, { 'x.png': 'mine' })
  const { code, out, read } = await runWhile(JSON.stringify(resultOf(red)), change, [...create, '--json'])
  expect([code, JSON.parse(out)]).toMatchObject([
    0,
    {
      files: [{ path: 'x-2.png' }],
      warnings: ['x.png was taken meanwhile; the image is in x-2.png.'],
    },
  ])
  expect([read('x.png').toString(), read('x-2.png').equals(red)]).toEqual(['mine', true])
})

test('a preview that cannot be kept costs no image', async () => {
  const change = (cwd: string) => mkdirSync(join(cwd, 'x-partial-1.png'))
  const words = [...create, '--stream', '--partial-images', '1', '--save-partials', '--json']
  const { code, out, files } = await runWhile(partial(large) + completed(red), change, words)
  expect([code, files(), JSON.parse(out)]).toMatchObject([
    0,
    ['x.png'],
    {
      files: [{ path: 'x.png' }],
      partials: [],
      warnings: ['Preview 1 is not kept: "x-partial-1.png" cannot be written: it is a folder.'],
    },
  ])
})

test('a name that has become a folder keeps only its own image from its place', async () => {
  const change = (cwd: string) => mkdirSync(join(cwd, 'out/x-1.png'))
  const words = ['create', '-m', 'm', '-o', 'out/x.png', '-n', '2', 'A kite']
  const { code, out, err } = await runWhile(JSON.stringify(resultOf(red, large)), change, words)
  expect([code, out]).toEqual([12, 'out/x-2.png\n'])
  expect(err).toMatch(/^image 1 failed: "out\/x-1\.png" cannot be written: it is a folder\. It is kept in /m)
})

test('a record that cannot be written beside its image is a warning', async () => {
  const change = (cwd: string) => mkdirSync(join(cwd, 'x.png.json'))
  const { code, out, err } = await runWhile(JSON.stringify(resultOf(red)), change, [...create, '--sidecar'])
  expect([code, out]).toEqual([0, 'x.png\n'])
  expect(err).toContain(
    'warning: The record of x.png is not kept: "x.png.json" cannot be written: it is a folder.\n',
  )
})

test('Ctrl-C keeps the images that have come, and nothing half', async () => {
  const begun = chunk(JSON.stringify(resultOf(red, large)).slice(0, 200_000))
  const { start, files, read } = await given([
    readAll,
    write(head(200, { 'transfer-encoding': 'chunked' })),
    write(begun),
    stall,
  ])
  const { until: goOn, context, exitCode } = start([...create, '-n', '2'])
  await goOn(() => files().includes('x-1.png'))
  context.abort(new Interrupted('interrupt'))
  expect([await exitCode, context.stdout.text, files()]).toEqual([130, 'x-1.png\n', ['x-1.png']])
  expect(read('x-1.png').equals(red)).toBe(true)
  expect(context.stderr.text).toMatch(/^modelgate: Stopped\.\n  The request was billed\.\n$/m)
})

test('Ctrl-C while results are downloaded keeps those that have come, and tells how to get the others', async () => {
  const { server, start, files } = await given(
    images(...['/1', '/2', '/3', '/4'].map((url) => ({ url }))),
    text('', { status: 403 }),
    file(red),
    [
      readAll,
      write(head(200, { 'content-length': String(large.length) })),
      write(large.subarray(0, 300_000)),
      stall,
    ],
  )
  const { until: goOn, context, exitCode } = start([...create, '-n', '4', '--json'])
  await goOn(() => files().some((name) => name.startsWith('.x-3.png')))
  context.abort(new Interrupted('interrupt'))
  expect([await exitCode, files()]).toEqual([130, ['x-2.png']])
  expect(JSON.parse(context.stderr.text)).toMatchObject({
    error: {
      code: 'interrupted',
      phase: 'result',
      billed: 'yes',
      hint: expect.stringMatching(/wait image_\w+$/),
    },
    partial: {
      files: [{ path: 'x-2.png' }],
      links: [
        { index: 1, url: `${server.url}/1` },
        { index: 3, url: `${server.url}/3` },
        { index: 4, url: `${server.url}/4` },
      ],
    },
  })
})

test('a picture that is gone when the upload is tried again has cost nothing', async () => {
  const { promise: gone, resolve: go } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const { server, cwd, run } = await given([readHead, hold(begun), deaf, hold(gone), reset], [readHead])
  writeFiles(cwd, { 'in.png': paddedPng(red, 30_000_000) })
  const ended = run(['edit', '-m', 'm', '--image', 'in.png', '-o', 'x.png', 'A kite'])
  // More than the head of the file's part: the file has been opened.
  await until(() => (server.requests[0]?.body.length ?? 0) >= 1000)
  begin()
  rmSync(join(cwd, 'in.png'))
  go()
  const { code, err } = await ended
  expect(code).toBe(10)
  expect(err).toMatch(/^modelgate: .*in\.png" cannot be read: it does not exist\.$/m)
  expect(err).not.toMatch(/billed/)
})
