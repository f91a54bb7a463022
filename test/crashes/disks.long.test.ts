import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { spawnProgram } from '../black-box/spawn-program.ts'
import { crashProject } from '../pipeline/crash-project.ts'
import { forTest, hasRedis, startRedis } from '../support/queue-servers.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import {
  canMount,
  exfatFolder,
  fillDisk,
  hasExfat,
  mountReadOnly,
  mountTmpfs,
} from '../support/small-disks.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { crashMachine, endOf, filesBelow, generate, image, video } from './machine.ts'

const text = [...generate, '--force', '-o', 'note.txt', 'A note']
const words = 'These words come from the local sandbox'
const older = 'What was there before.'

const manifest = `version: 1
jobs:
  note: { respond: { model: some-text-model, input: A note }, out: note.txt }
  hero: { image create: { model: gpt-image-2, prompt: A boat }, out: pictures/hero.png }
  film: { video generate: { model: veo-3.1, prompt: Waves, image: "@hero" }, out: film.mp4 }
`
const outputs = { 'note.txt': true, 'pictures/hero.png': true, 'film.mp4': true }

/** A machine on whose small disk nothing more than so many bytes can be written. @param place below its root */
async function fullMachine(place: string, left: number) {
  const root = temporaryFolder()
  const disk = mountTmpfs(join(root, place), 256)
  const machine = await crashMachine({ root })
  for (const name of ['note.txt', 'boat.mp4']) writeFileSync(join(machine.cwd, name), older)
  const free = fillDisk(disk, left)
  const untouched = () => {
    const files = [...machine.files()].filter(([name]) => name !== '.filler')
    expect(files.map(([name, bytes]) => `${name}: ${bytes}`)).toEqual([
      `boat.mp4: ${older}`,
      `note.txt: ${older}`,
    ])
    expect([machine.leftovers(), machine.brokenRecords(), machine.sandbox.created()]).toEqual([[], [], 1])
  }
  return { machine, free, untouched }
}

// Images and films, some of many: test/program/images/rescue.test.ts, test/program/videos/rescue.test.ts.
describe.skipIf(!canMount)('a disk that is full (needs the right to mount a tmpfs)', () => {
  test('a text is kept in the rescue folder, on another disk', async () => {
    const { machine, untouched } = await fullMachine('project', 0)
    const { exit, stderr } = await machine.start(text).ended
    const [rescued = '', ...others] = filesBelow(join(machine.state, 'rescued'))
    expect([exit, rescued.slice(16), others]).toEqual([10, 'note.txt', []])
    expect(stderr).toContain(rescued)
    untouched()
  })

  test('a text that can be kept nowhere is printed', async () => {
    const { machine, untouched } = await fullMachine('', 0)
    const { exit, stdout, stderr } = await machine.start(text).ended
    expect([exit, stdout.toString()]).toEqual([10, expect.stringContaining(words)])
    expect(stderr).toContain('It could not be rescued either')
    untouched()
  })

  test('a video that can be kept nowhere is fetched again as the message says', async () => {
    const { machine, free, untouched } = await fullMachine('', 32_768)
    const { exit, stderr } = await machine.start(video).ended
    expect(exit).toBe(10)
    untouched()
    const [wait = ''] = /(?<=modelgate )wait .*$/m.exec(stderr) ?? []
    free()
    // To a place with room for it.
    const folder = temporaryFolder()
    await machine.finish([...wait.split(' '), '-o', join(folder, 'boat.mp4')])
    expect([readdirSync(folder), machine.sandbox.created()]).toEqual([['boat.mp4'], 1])
  })

  test('an answer is printed where there is no room for the log', async () => {
    const { machine, untouched } = await fullMachine('state', 0)
    const { stdout, stderr } = await machine.finish([...generate, 'A note'])
    expect(stdout.toString()).toContain(words)
    expect(stderr).toContain('there is no space left')
    untouched()
  })

  // The owner's record, the journal, a result, its copy in the store, the lock: each is the first to fail once.
  test.each([0, 4, 8, 16, 32, 64])(
    'a run with %i KiB left: nothing half-written, and the next run completes it',
    async (left) => {
      const sandbox = await runningSandbox()
      const folder = mountTmpfs(temporaryFolder(), 4096)
      const project = crashProject(sandbox, { 'modelgate.yaml': manifest }, { folder })
      const state = temporaryFolder()
      const free = fillDisk(folder, left * 1024)
      const run = () => project.start(['--yes'], { MODELGATE_STATE_DIR: state })
      await endOf(run(), 10)
      const files = filesBelow(folder)
      expect(files.filter((name) => /\.mgpart$|\.owner/.test(name))).toEqual([])
      for (const name of files.filter((file) => file.endsWith('.jsonl'))) {
        const lines = readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1)
        for (const line of lines) expect(JSON.parse(line)).toHaveProperty('type')
      }
      const before = existsSync(join(folder, 'modelgate.lock')) ? Object.values(project.outputs()) : []
      expect(before.every(Boolean)).toBe(true)
      const lost = filesBelow(join(state, 'rescued')).length
      free()
      await endOf(run())
      expect([project.outputs(), project.leftovers()]).toEqual([outputs, []])
      // What was rescued is made again: the run does not look there.
      expect(sandbox.created() - lost).toBeLessThanOrEqual(3)
    },
  )

  test.skipIf(!hasRedis)('a worker sends nothing, and the next one does (needs redis-server)', async () => {
    const server = await forTest(startRedis())
    const sandbox = await runningSandbox()
    const project = crashProject(sandbox, { 'modelgate.yaml': manifest.replace(', image: "@hero"', '') })
    const places = ['--queue', server.url, '--store', temporaryFolder()]
    await project.finish(['--yes', '--detach', ...places], 11)
    const state = mountTmpfs(temporaryFolder(), 8192)
    const free = fillDisk(state)
    const env = {
      MODELGATE_BASE_URL: sandbox.url,
      MODELGATE_STATE_DIR: state,
      MODELGATE_POLL_INTERVAL: '0.1',
    }
    const work = () => spawnProgram(['run', 'worker', '--until-empty', ...places], { env }).ended
    const { exit, stderr } = await work()
    expect([exit, filesBelow(state), sandbox.created()]).toEqual([10, ['.filler'], 0])
    expect(stderr).toContain('there is no space left')
    free()
    expect((await work()).exit).toBe(0)
    await project.finish(['--yes', ...places])
    expect([project.outputs(), sandbox.created()]).toEqual([outputs, 3])
  })
})

describe.skipIf(!canMount)('a folder that is read-only (needs the right to mount)', () => {
  const told = 'the file system is read-only'

  test.each([
    ['an image', image],
    ['a video', video],
    ['a text', text],
    ['a run', ['run', '--yes']],
  ])('of %s: refused before anything is sent', async (_, call) => {
    const machine = await crashMachine()
    writeFileSync(join(machine.cwd, 'modelgate.yaml'), manifest)
    mountReadOnly(machine.cwd)
    const { exit, stderr } = await machine.start(call).ended
    expect([exit, machine.sandbox.created(), [...machine.files().keys()]]).toEqual([
      10,
      0,
      ['modelgate.yaml'],
    ])
    expect(stderr).toContain(told)
  })

  test('for the state: calls work, and say what is not recorded; what is limited is not sent', async () => {
    const machine = await crashMachine()
    writeFileSync(join(machine.cwd, 'modelgate.yaml'), manifest)
    mkdirSync(machine.state)
    mountReadOnly(machine.state)
    const word = [...generate, 'A word']
    for (const call of [word, image, video]) expect((await machine.finish(call)).stderr).toContain(told)
    for (const call of [['run', '--yes'], ['log'], ['jobs']]) await machine.finish(call)
    expect(machine.sandbox.created()).toBe(6)
    // It could not be counted.
    const { exit, stderr } = await machine.start(word, { MODELGATE_MAX_CREATES: '5' }).ended
    expect([exit, machine.sandbox.created()]).toEqual([10, 6])
    expect(stderr).toContain(told)
  })
})

describe.skipIf(!hasExfat)('a folder without hard links (needs exfat-fuse, exfatprogs, loop devices)', () => {
  test('of eight processes at once none replaces what another one has written', async () => {
    const machine = await crashMachine({ root: exfatFolder() })
    writeFileSync(join(machine.root, 'one'), '')
    expect(() => linkSync(join(machine.root, 'one'), join(machine.root, 'two'))).toThrow('EPERM')
    const all = await Promise.all(Array.from({ length: 8 }, () => machine.start(image).ended))
    // What was paid for before the name was taken gets another one; who comes later sends nothing.
    const saved = all.flatMap(({ exit, stdout }) => (exit === 0 ? [stdout.toString().trim()] : []))
    expect(saved.toSorted()).toEqual([...machine.files().keys()].toSorted())
    expect(saved).toContain('hero.png')
    const refused = all.filter(({ exit }) => exit !== 0).map(({ stderr }) => stderr.toString())
    expect(refused.filter((text) => !text.includes('"hero.png" already exists'))).toEqual([])
    expect(machine.sandbox.created()).toBe(saved.length)
    expect([...machine.files().values()].filter(({ length }) => length < 1000)).toEqual([])
    await machine.finish(video)
    await machine.finish(['config', 'set', 'text_model', 'some-model'])
    expect([machine.leftovers(), machine.brokenRecords()]).toEqual([[], []])
  })

  test('a run makes its outputs, keeps and restores them', async () => {
    const sandbox = await runningSandbox()
    const project = crashProject(sandbox, { 'modelgate.yaml': manifest }, { folder: exfatFolder() })
    await project.finish()
    expect([project.outputs(), project.leftovers()]).toEqual([outputs, []])
    // From the store, without a creation.
    project.write({ 'note.txt': 'Something else.' })
    await project.finish(['--yes', '--force'])
    expect([project.outputs(), sandbox.created()]).toEqual([outputs, 3])
    expect(readdirSync(project.runs).filter((name) => name.includes('.owner'))).toEqual([])
  })
})
