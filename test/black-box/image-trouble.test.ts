import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  watch,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { seededRandom } from '../../src/sandbox/seeded-random.ts'
import { noisyPng, pngBytes } from '../support/image-bytes.ts'
import { localServer } from '../support/local-server.ts'
import { until } from '../support/running-sandbox.ts'
import { end, head, hold, json, readAll, stall, write, type ServerReply } from '../support/server-replies.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { rescuedIn } from '../program/images/image-run.ts'
import { spawnProgram, type Spawned } from './spawn-program.ts'

/** Several writes long. */
const hero = noisyPng(500, 500)
const small = pngBytes({ width: 2 })
const older = 'an older image'

const resultOf = (...images: readonly Uint8Array[]) => ({
  created: 1,
  data: images.map((image) => ({ b64_json: Buffer.from(image).toString('base64') })),
})
const create = (url: string, ...words: readonly string[]) =>
  ['image', 'create', '-m', 'm', '--base-url', url].concat(words, 'A kite')
const partsIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.mgpart'))
/** How many images are being written; the file that only shows whether the folder can be written stays empty. */
const begunIn = (folder: string) =>
  partsIn(folder).filter((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size).length

/** A folder with an older image, which the second of three is to replace, and the program that is run in it. */
function createStudio(folder: string) {
  mkdirSync(folder)
  const reply = json(resultOf(hero, hero, hero))
  let changes = 0
  const watcher = watch(folder, () => changes++)
  onTestFinished(() => watcher.close())
  const named = () => readdirSync(folder).filter((name) => !name.endsWith('.mgpart'))
  return {
    named: () => named().map((name) => [name, readFileSync(join(folder, name))] as const),
    get changes() {
      return changes
    },
    async start(): Promise<Spawned> {
      for (const name of named()) rmSync(join(folder, name))
      writeFileSync(join(folder, 'hero-2.png'), older)
      const server = await localServer([reply])
      const words = create(server.url, '-n', '3', '--force', '-o', 'hero.png')
      const program = spawnProgram(words, { cwd: folder })
      // What changes before the request comes is no saving.
      await until(() => server.requests.length > 0)
      changes = 0
      return program
    },
  }
}

test('killed 100 times while it saves, the program leaves no image incomplete under its name, and no harm', async () => {
  const root = temporaryFolder()
  const random = seededRandom(20_261_121)
  const measured = createStudio(join(root, 'measured'))
  expect((await (await measured.start()).ended).exit).toBe(0)
  const changesInAll = measured.changes

  const outcomes: { readonly exit: unknown; readonly files: readonly (readonly [string, Buffer])[] }[] = []
  const killed = () => outcomes.filter(({ exit }) => exit === 'SIGKILL')
  const isWhole = (content: Buffer) => content.equals(hero)
  /** How many of the images were complete under their names at the kills. */
  const savedOnes = () =>
    new Set(killed().map(({ files: kept }) => kept.filter(([, content]) => isWhole(content)).length))
  const killAgainAndAgain = async (folder: string) => {
    const studio = createStudio(folder)
    // Until the kills have fallen on every image, and on both sides of its naming. How many it takes is up to chance.
    while ((killed().length < 100 || savedOnes().size < 4) && outcomes.length < 1000) {
      const program = await studio.start()
      const at = 1 + Math.floor(random() * changesInAll)
      await until(() => studio.changes >= at || program.process.exitCode !== null)
      // A little later, so that not every kill follows a call of the system.
      for (let turns = Math.floor(random() * 20); turns > 0; turns--) await setImmediate()
      program.process.kill('SIGKILL')
      outcomes.push({ exit: (await program.ended).exit, files: studio.named() })
    }
  }
  const folders = [join(root, 'a'), join(root, 'b')]
  await Promise.all(folders.map(killAgainAndAgain))
  expect(killed().length).toBeGreaterThanOrEqual(100)

  const isAllowed = (name: string, content: Buffer) =>
    isWhole(content) || (name === 'hero-2.png' && content.toString() === older)
  const files = outcomes.flatMap((outcome) => outcome.files)
  expect(files.filter(([name, content]) => !isAllowed(name, content)).map(([name]) => name)).toEqual([])
  expect(savedOnes()).toEqual(new Set([0, 1, 2, 3]))

  for (const folder of folders) {
    const leftovers = partsIn(folder)
    expect(leftovers.length).toBeGreaterThan(0)
    expect(leftovers.filter((name) => !/^\.hero-\d\.png\.[0-9a-f]{16}\.mgpart$/.test(name))).toEqual([])
    const longAgo = Date.now() / 1000 - 25 * 3600
    for (const name of leftovers) utimesSync(join(folder, name), longAgo, longAgo)
    const server = await localServer([json(resultOf(small))])
    const later = await spawnProgram(create(server.url, '-o', 'later.png'), { cwd: folder }).ended
    expect([later.exit, later.stdout.toString()]).toEqual([0, 'later.png\n'])
    expect(partsIn(folder)).toEqual([])
  }
}, 240_000)

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
