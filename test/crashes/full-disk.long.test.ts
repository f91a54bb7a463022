import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { spawnProgram } from '../black-box/spawn-program.ts'
import { crashProject } from '../pipeline/crash-project.ts'
import { forTest, hasRedis, startRedis } from '../support/queue-servers.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { canMount, fillDisk, mountTmpfs } from '../support/small-disks.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { crashMachine, filesBelow, type Machine } from './machine.ts'

const image = ['image', 'create', '-m', 'gpt-image-2', '-n', '2', '--force', '-o', 'hero.png', 'A boat']
const video = ['video', 'generate', '-m', 'veo-3.1', '--wait', '--force', '-o', 'boat.mp4', 'A boat']
const text = ['generate', '-m', 'sandbox-text', '--force', '-o', 'note.txt', 'A note']
const older = 'What was there before.'

/** The names of results that could not be written to their place, without the time at which they were rescued. */
const rescued = ({ state }: Machine) => filesBelow(join(state, 'rescued')).map((name) => name.slice(16))

/** A machine on whose small disk nothing more than so many bytes can be written. @param place below its root */
async function fullMachine(place: string, left: number) {
  const root = temporaryFolder()
  const disk = mountTmpfs(join(root, place), 256)
  const machine = await crashMachine({ root })
  for (const name of ['hero-1.png', 'note.txt', 'boat.mp4']) writeFileSync(join(machine.cwd, name), older)
  const free = fillDisk(disk, left)
  return { machine, free, disk }
}

function expectUntouched(machine: Machine): void {
  expect(
    [...machine.files()].filter(([name]) => name !== '.filler').map(([name, text]) => `${name}: ${text}`),
  ).toEqual(['boat.mp4', 'hero-1.png', 'note.txt'].map((name) => `${name}: ${older}`))
  expect(machine.leftovers()).toEqual([])
  expect(machine.brokenRecords()).toEqual([])
}

describe.skipIf(!canMount)('a disk that is full (needs the right to mount a tmpfs)', () => {
  test.each([
    ['images', image, 0, ['hero-1.png', 'hero-2.png']],
    ['images, in the middle of one', image, 8192, ['hero-1.png', 'hero-2.png']],
    ['a video', video, 0, ['boat.mp4']],
    ['a video, in the middle of it', video, 8192, ['boat.mp4']],
    ['a text', text, 0, ['note.txt']],
  ])('%s: kept in the rescue folder, on another disk', async (_, call, left, names) => {
    const { machine } = await fullMachine('project', left)
    const { exit, stderr } = await machine.start(call).ended
    expect(exit).toBe(10)
    expectUntouched(machine)
    expect(rescued(machine)).toEqual(names)
    for (const name of filesBelow(join(machine.state, 'rescued'))) expect(stderr).toContain(name)
    expect(machine.sandbox.created()).toBe(1)
  })

  test.each([
    ['images', image, 0],
    ['images, in the middle of one', image, 8192],
    ['a video', video, 0],
    ['a text', text, 0],
  ])('%s: nothing half-written, where the rescue folder is on the same disk', async (_, call, left) => {
    const { machine } = await fullMachine('', left)
    const { exit, stderr } = await machine.start(call).ended
    expect([exit, machine.sandbox.created()]).toEqual([10, 1])
    expectUntouched(machine)
    expect(rescued(machine)).toEqual([])
    expect(stderr).toContain('It could not be rescued either')
  })

  test('a text that can be kept nowhere is printed', async () => {
    const { machine } = await fullMachine('', 0)
    const { stdout } = await machine.start(text).ended
    expect(stdout.toString()).toContain('These words come from the local sandbox')
  })

  test('a video that can be kept nowhere is fetched again as the message says', async () => {
    const { machine, free } = await fullMachine('', 32_768)
    const { exit, stderr } = await machine.start(video).ended
    expect(exit).toBe(10)
    expectUntouched(machine)
    const [words = ''] = /(?<=modelgate )wait .*$/m.exec(stderr) ?? []
    free()
    // To a place with room for it.
    const folder = temporaryFolder()
    await machine.finish([...words.split(' '), '-o', join(folder, 'boat.mp4')])
    expect(readdirSync(folder)).toEqual(['boat.mp4'])
    expect(machine.sandbox.created()).toBe(1)
  })

  test('an answer is printed where there is no room for the log', async () => {
    const { machine } = await fullMachine('state', 0)
    const { exit, stdout, stderr } = await machine.start(['generate', '-m', 'sandbox-text', 'A note']).ended
    expect(exit).toBe(0)
    expect(stdout.toString()).toContain('These words come from the local sandbox')
    expect(stderr).toContain('there is no space left')
    expect(machine.brokenRecords()).toEqual([])
  })

  test('a configuration file stays as it is', async () => {
    const { machine, disk, free } = await fullMachine('', 0)
    free()
    await machine.finish(['config', 'set', 'text_model', 'some-model'])
    const path = join(machine.root, 'config/config.yaml')
    const before = readFileSync(path, 'utf8')
    fillDisk(disk)
    const { exit } = await machine.start(['config', 'set', 'text_model', 'another-model']).ended
    expect([exit, readFileSync(path, 'utf8')]).toEqual([10, before])
    expect(machine.leftovers()).toEqual([])
  })
})

const manifest = `version: 1
jobs:
  note: { respond: { model: some-text-model, input: A note }, out: note.txt }
  hero: { image create: { model: gpt-image-2, prompt: A boat }, out: hero.png }
  film: { video generate: { model: veo-3.1, prompt: Waves }, out: film.mp4 }
`

describe.skipIf(!canMount)('a run on a disk that is full (needs the right to mount a tmpfs)', () => {
  // The owner's record, the journal, a result, its copy in the store, the lock: each is the first to fail once.
  test.each([0, 4, 8, 16, 32, 64])(
    'with %i KiB left: nothing half-written, and the next run completes it',
    async (left) => {
      const sandbox = await runningSandbox()
      const folder = mountTmpfs(temporaryFolder(), 4096)
      const project = crashProject(sandbox, { 'modelgate.yaml': manifest }, { folder })
      const state = temporaryFolder()
      const free = fillDisk(folder, left * 1024)
      const run = () => project.start(['--yes'], { MODELGATE_STATE_DIR: state }).ended
      const first = await run()
      expect([first.exit, first.exit === 10 ? '' : first.stderr]).toEqual([10, ''])
      const files = filesBelow(folder)
      expect(files.filter((name) => /\.mgpart$|\.owner/.test(name))).toEqual([])
      for (const name of files.filter((file) => file.endsWith('.jsonl'))) {
        const lines = readFileSync(join(folder, name), 'utf8').split('\n')
        for (const line of lines.filter((text) => text !== ''))
          expect(JSON.parse(line)).toHaveProperty('type')
      }
      const before = existsSync(join(folder, 'modelgate.lock')) ? Object.values(project.outputs()) : []
      expect(before.every(Boolean)).toBe(true)
      const lost = filesBelow(join(state, 'rescued')).length
      free()
      const { exit, stderr } = await run()
      expect([exit, exit === 0 ? '' : stderr]).toEqual([0, ''])
      expect(project.outputs()).toEqual({ 'note.txt': true, 'hero.png': true, 'film.mp4': true })
      // What was rescued is made again: the run does not look there.
      expect(sandbox.created() - lost).toBeLessThanOrEqual(3)
      expect(project.leftovers()).toEqual([])
    },
  )

  test.skipIf(!hasRedis)(
    'a worker on a full disk sends nothing, and the next one does (needs redis-server)',
    async () => {
      const server = await forTest(startRedis())
      const sandbox = await runningSandbox()
      const project = crashProject(sandbox, { 'modelgate.yaml': manifest })
      const places = ['--queue', server.url, '--store', temporaryFolder()]
      await project.finish(['--yes', '--detach', ...places], 11)
      const state = mountTmpfs(temporaryFolder(), 8192)
      const free = fillDisk(state)
      const work = () =>
        spawnProgram(['run', 'worker', '--until-empty', ...places], {
          env: {
            MODELGATE_BASE_URL: sandbox.url,
            MODELGATE_STATE_DIR: state,
            MODELGATE_POLL_INTERVAL: '0.1',
          },
        }).ended
      const { exit, stderr } = await work()
      expect([exit, filesBelow(state), sandbox.created()]).toEqual([10, ['.filler'], 0])
      expect(stderr).toContain('there is no space left')
      free()
      expect((await work()).exit).toBe(0)
      await project.finish(['--yes', ...places])
      expect(project.outputs()).toEqual({ 'note.txt': true, 'hero.png': true, 'film.mp4': true })
      expect(sandbox.created()).toBe(3)
    },
  )
})
