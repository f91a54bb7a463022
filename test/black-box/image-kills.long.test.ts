import { mkdirSync, readFileSync, readdirSync, rmSync, utimesSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { seededRandom } from '../../src/sandbox/seeded-random.ts'
import { pngBytes } from '../support/image-bytes.ts'
import { localServer } from '../support/local-server.ts'
import { until } from '../support/running-sandbox.ts'
import { json } from '../support/server-replies.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { create, hero, partsIn, resultOf } from './image-program.ts'
import { spawnProgram, type Spawned } from './spawn-program.ts'

const small = pngBytes({ width: 2 })
const older = 'an older image'

/** A folder with an older image, which the second of three is to replace, and the program that is run in it. */
function createWorkspace(folder: string) {
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
  const measured = createWorkspace(join(root, 'measured'))
  expect((await (await measured.start()).ended).exit).toBe(0)
  const changesInAll = measured.changes

  const outcomes: { readonly exit: unknown; readonly files: readonly (readonly [string, Buffer])[] }[] = []
  const killed = () => outcomes.filter(({ exit }) => exit === 'SIGKILL')
  const isWhole = (content: Buffer) => content.equals(hero)
  /** How many of the images were complete under their names at the kills. */
  const savedOnes = () =>
    new Set(killed().map(({ files: kept }) => kept.filter(([, content]) => isWhole(content)).length))
  const killAgainAndAgain = async (folder: string) => {
    const workspace = createWorkspace(folder)
    // Until the kills have fallen on every image, and on both sides of its naming. How many it takes is up to chance.
    while ((killed().length < 100 || savedOnes().size < 4) && outcomes.length < 1000) {
      const program = await workspace.start()
      const at = 1 + Math.floor(random() * changesInAll)
      await until(() => workspace.changes >= at || program.process.exitCode !== null)
      // A little later, so that not every kill follows a call of the system.
      for (let turns = Math.floor(random() * 20); turns > 0; turns--) await setImmediate()
      program.process.kill('SIGKILL')
      outcomes.push({ exit: (await program.ended).exit, files: workspace.named() })
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
