import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { expect, onTestFinished, test } from 'vitest'
import { localServer } from '../support/local-server.ts'
import { until } from '../support/running-sandbox.ts'
import { end, head, hold, json, readAll, stall, write, type ServerReply } from '../support/server-replies.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { rescuedIn } from '../program/images/image-run.ts'
import { create, hero, partsIn, resultOf } from './image-program.ts'
import { spawnProgram } from './spawn-program.ts'

/** How many images are being written; the file that only shows whether the folder can be written stays empty. */
const begunIn = (folder: string) =>
  partsIn(folder).filter((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size).length

const canMount = process.platform === 'linux' && process.getuid?.() === 0

/** A file system of its own, which goes when the test ends. */
function mounted(options: string): string {
  const folder = temporaryFolder()
  expect(spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).status).toBe(0)
  onTestFinished(() => void spawnSync('umount', [folder]))
  return folder
}

test.skipIf(!canMount)(
  'a full disk (needs root for a tmpfs) leaves nothing, and says what was paid for',
  async () => {
    const folder = mounted('size=300k')
    const server = await localServer([json(resultOf(hero))])
    const { exit, stdout, stderr } = await spawnProgram(create(server.url, '-o', 'x.png'), { cwd: folder })
      .ended
    expect([exit, stdout.toString(), readdirSync(folder)]).toEqual([10, '', []])
    expect(stderr).toMatch(/^modelgate: .*x\.png.* no space/m)
    expect(stderr).toContain('  The request was billed.\n')
  },
)

test.skipIf(!canMount)('a disk that gets full by a download (needs root for a tmpfs)', async () => {
  const folder = mounted('size=300k')
  const picture: ServerReply = [
    readAll,
    write(head(200, { 'content-length': String(hero.length) })),
    write(hero),
    end,
  ]
  const result = json({ created: 1, data: [{ url: '/a.png' }] })
  const server = await localServer([result, picture, result, picture])
  const state = temporaryFolder()
  const run = async (stateFolder: string) => {
    const env = { MODELGATE_STATE_DIR: stateFolder }
    const { exit, stderr } = await spawnProgram(create(server.url, '-o', 'x.png'), { cwd: folder, env }).ended
    expect([exit, existsSync(join(folder, 'x.png'))]).toEqual([10, false])
    return stderr
  }
  expect(await run(state)).toMatch(/ It is kept in ".*-x\.png" instead\.\n[^]* The request was billed\.\n/)
  expect(rescuedIn(state)).toEqual(new Map([['x.png', hero]]))
  // Where nothing can be written the address is all that is left.
  const told = await run(join(folder, 'state'))
  expect(told).toContain('It could not be rescued either')
  expect(told).toContain(`its address is ${server.url}/a.png\n  The request was billed.\n`)
})

test.skipIf(!canMount)(
  'a read-only disk (needs root to mount one) is found before anything is sent',
  async () => {
    const folder = mounted('ro')
    const server = await localServer([])
    const { exit, stderr } = await spawnProgram(create(server.url, '-o', 'x.png'), { cwd: folder }).ended
    expect(exit).toBe(10)
    expect(stderr).toMatch(/^modelgate: .*read-only/m)
  },
)

test.each([
  ['both keep their image', [], ['x-2.png', 'x.png']],
  ['with --force one wins wholly', ['--force'], ['x.png']],
])('of two processes that save under the same name %s', async (_, words, names) => {
  const folder = temporaryFolder()
  const { promise: both, resolve: go } = Promise.withResolvers<void>()
  const text = JSON.stringify(resultOf(hero))
  const inTwo: ServerReply = [
    readAll,
    write(head(200, { 'content-length': String(text.length) }) + text.slice(0, -1000)),
    hold(both),
    write(text.slice(-1000)),
    end,
  ]
  const server = await localServer([inTwo, inTwo])
  const rivals = [1, 2].map(() => spawnProgram(create(server.url, ...words, '-o', 'x.png'), { cwd: folder }))
  await until(() => begunIn(folder) === 2, folder)
  go()
  const ended = await Promise.all(rivals.map((rival) => rival.ended))
  expect(ended.map(({ exit }) => exit)).toEqual([0, 0])
  expect(readdirSync(folder).sort()).toEqual(names)
  expect(names.map((name) => readFileSync(join(folder, name)).equals(hero))).toEqual(names.map(() => true))
})

test('Ctrl-C while a result is downloaded says what has been paid for, and where it is', async () => {
  const folder = temporaryFolder()
  const picture = head(200, { 'content-length': String(hero.length) })
  const server = await localServer([
    json({ created: 1, data: [{ url: '/a.png' }] }),
    [readAll, write(picture), write(hero.subarray(0, 500_000)), stall],
  ])
  const program = spawnProgram(create(server.url, '-o', 'x.png'), { cwd: folder })
  await until(() => begunIn(folder) > 0, folder)
  program.process.kill('SIGINT')
  const { exit, stdout, stderr } = await program.ended
  expect([exit, stdout.toString(), readdirSync(folder)]).toEqual(['SIGINT', '', []])
  expect(stderr).toBe(
    'modelgate: Stopped.\n' +
      `  hint: The image has been made; its address is ${server.url}/a.png\n` +
      '  The request was billed.\n',
  )
})
