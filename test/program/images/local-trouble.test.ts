import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Interrupted } from '../../../src/errors.ts'
import { runMain } from '../../support/run-main.ts'
import { localServer } from '../../support/local-server.ts'
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
  type ServerReply,
} from '../../support/server-replies.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { paddedPng } from '../../support/test-images.ts'
import { startProgram } from '../start-program.ts'
import { given } from './image-run.ts'
import { base64, blue, completed, images, large, partial, red, resultOf } from './replies.ts'
import { canaryKey } from '../../support/canary-key.ts'

const create = ['create', '-m', 'm', 'A kite']

/** The whole reply but its last bytes, then the rest when the test says so. */
function inTwo(bytes: Uint8Array, until: Promise<unknown>, first = 100): ServerReply {
  const text = JSON.stringify(resultOf(bytes))
  const length = String(Buffer.byteLength(text))
  return [
    readAll,
    write(head(200, { 'content-length': length }) + text.slice(0, first)),
    hold(until),
    write(text.slice(first)),
    end,
  ]
}

test('a file that appears while the image comes stays, and the image gets the next name', async () => {
  const { promise: there, resolve: go } = Promise.withResolvers<void>()
  const { server, run, cwd, read } = await given(inTwo(red, there))
  const ended = run([...create, '-o', 'x.png', '--json'])
  await until(() => server.taken > 0)
  writeFiles(cwd, { 'x.png': 'mine' })
  go()
  const { code, out } = await ended
  expect(code).toBe(0)
  expect(JSON.parse(out)).toMatchObject({
    files: [{ path: 'x-2.png' }],
    warnings: ['x.png was taken meanwhile; the image is in x-2.png.'],
  })
  expect(read('x.png').toString()).toBe('mine')
  expect(read('x-2.png').equals(red)).toBe(true)
})

test('a preview that cannot be kept costs no image', async () => {
  const { promise: there, resolve: go } = Promise.withResolvers<void>()
  const body = partial(large) + completed(red)
  const { server, run, cwd, files } = await given([
    readAll,
    write(head(200, { 'content-type': 'text/event-stream' })),
    hold(there),
    write(body),
    end,
  ])
  const words = [...create, '--stream', '--partial-images', '1', '--save-partials', '-o', 'x.png', '--json']
  const ended = run(words)
  await until(() => server.taken > 0)
  mkdirSync(join(cwd, 'x-partial-1.png'))
  go()
  const { code, out } = await ended
  expect([code, files()]).toEqual([0, ['x.png']])
  expect(JSON.parse(out)).toMatchObject({
    files: [{ path: 'x.png' }],
    partials: [],
    warnings: ['Preview 1 is not kept: "x-partial-1.png" cannot be written: it is a folder.'],
  })
})

test('of two programs that write the same name both keep their image', async () => {
  const { promise: both, resolve: go } = Promise.withResolvers<void>()
  const { server, ...workspace } = await given(inTwo(red, both), inTwo(blue, both))
  // Temporary files of the other run are no leftovers: only what is there in the end counts.
  const env = { MODELGATE_BASE_URL: server.url, MODELGATE_API_KEY: canaryKey() }
  const run = () => runMain(['image', ...create, '-o', 'x.png'], { cwd: workspace.cwd, env })
  const ended = [run(), run()]
  await until(() => server.requests.filter(({ complete }) => complete).length === 2)
  go()
  const results = await Promise.all(ended)
  expect(results.map(({ code }) => code)).toEqual([0, 0])
  expect(results.map(({ out }) => out).sort()).toEqual(['x-2.png\n', 'x.png\n'])
  expect(workspace.files()).toEqual(['x-2.png', 'x.png'])
  const contents = workspace.files().map((name) => workspace.read(name).toString('base64'))
  expect(contents.sort()).toEqual([base64(red), base64(blue)].sort())
})

test('Ctrl-C keeps the images that have come, and nothing half', async () => {
  const text = JSON.stringify(resultOf(red, large))
  const server = await localServer([
    [
      readAll,
      write(head(200, { 'transfer-encoding': 'chunked' })),
      write(chunk(text.slice(0, 200_000))),
      stall,
    ],
  ])
  const cwd = temporaryFolder()
  const env = { MODELGATE_BASE_URL: server.url, MODELGATE_API_KEY: canaryKey() }
  const run = startProgram(['image', 'create', '-m', 'm', '-n', '2', '-o', 'x.png', 'A kite'], { env, cwd })
  await run.until(() => readdirSync(cwd).includes('x-1.png'))
  run.context.abort(new Interrupted('interrupt'))
  expect(await run.exitCode).toBe(130)
  expect(readdirSync(cwd)).toEqual(['x-1.png'])
  expect(readFileSync(join(cwd, 'x-1.png')).equals(red)).toBe(true)
  expect(run.context.stdout.text).toBe('x-1.png\n')
  expect(run.context.stderr.text).toMatch(/^modelgate: Stopped\.\n  The request was billed\.\n$/m)
})

test('Ctrl-C while results are downloaded keeps those that have come, and tells how to get the others', async () => {
  const results = ['/1', '/2', '/3', '/4'].map((url) => ({ url }))
  const picture = head(200, { 'content-length': String(large.length) })
  const server = await localServer([
    images(...results),
    text('', { status: 403 }),
    [readAll, write(head(200, { 'content-length': String(red.length) })), write(red), end],
    [readAll, write(picture), write(large.subarray(0, 300_000)), stall],
  ])
  const cwd = temporaryFolder()
  const env = { MODELGATE_BASE_URL: server.url, MODELGATE_API_KEY: canaryKey() }
  const words = ['image', 'create', '-m', 'm', '-n', '4', '-o', 'x.png', '--json', 'A kite']
  const run = startProgram(words, { env, cwd })
  await run.until(() => readdirSync(cwd).some((name) => name.startsWith('.x-3.png')))
  run.context.abort(new Interrupted('interrupt'))
  expect(await run.exitCode).toBe(130)
  expect(readdirSync(cwd)).toEqual(['x-2.png'])
  expect(JSON.parse(run.context.stderr.text)).toMatchObject({
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
  const { server, cwd, runThroughWaits } = await given(
    [readHead, hold(begun), deaf, hold(gone), reset],
    [readHead],
  )
  writeFiles(cwd, { 'in.png': paddedPng(red, 30_000_000) })
  const ended = runThroughWaits(['edit', '-m', 'm', '--image', 'in.png', '-o', 'x.png', 'A kite'])
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
