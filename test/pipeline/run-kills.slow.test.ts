import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Sandbox } from '../../src/sandbox/start-sandbox.ts'
import { seededRandom } from '../../src/sandbox/seeded-random.ts'
import { spawnProgram, type Spawned } from '../black-box/spawn-program.ts'
import { runningSandbox, until } from '../support/running-sandbox.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'

/** Every command once, with what refers to what. */
const everyCommand = `
version: 1
jobs:
  hero:
    image create: { model: gpt-image-2, prompt: A harbour at dawn }
    out: hero.png
  banner:
    image edit: { model: gpt-image-2, prompt: Wider, image: "@hero" }
    out: banner.png
  teaser:
    video generate: { model: veo-3.1, prompt: The harbour wakes up, image: "@hero" }
    out: teaser.mp4
  night:
    video remix: { model: sora-2, prompt: The same at night, source: "@teaser" }
    out: night.mp4
  caption:
    respond: { model: some-text-model, input: A caption, attach: "@hero" }
    out: caption.txt
  slogan:
    generate: { model: gemini-3-flash, prompt: { file: "@caption" } }
    out: slogan.txt
`
const commands = 6
const texts = ['caption', 'slogan']

/** A project in a folder of its own, and the program that is run in it. */
function createProject(sandbox: Sandbox, manifest: string, isHonoured = true) {
  const folder = temporaryFolder()
  writeFiles(folder, { 'modelgate.yaml': manifest })
  const runs = join(folder, '.modelgate/runs')
  mkdirSync(runs, { recursive: true })
  const env = { MODELGATE_BASE_URL: sandbox.url, MODELGATE_IDEMPOTENCY_HONOURED: String(isHonoured) }
  return {
    runs,
    start: (): Spawned => spawnProgram(['run', '--yes'], { cwd: folder, env }),
    /** How many events are on disk. */
    lines: () => journals(runs).join('').split('\n').length - 1,
    /** The instances of all events of a type. */
    instancesWith: (type: string) =>
      journals(runs).flatMap((text) =>
        text
          .split('\n')
          .filter((line) => line.startsWith(`{"type":"${type}"`))
          .map((line) => String((JSON.parse(line) as { instance: unknown }).instance)),
      ),
    /** Names the outputs, each with whether its bytes are those that the lock names. */
    outputs(): Record<string, boolean> {
      const lock = JSON.parse(readFileSync(join(folder, 'modelgate.lock'), 'utf8')) as Record<
        string,
        LockedBlock
      >
      const outputs = Object.values(lock).flatMap(({ outputs: own = [] }) => own)
      return Object.fromEntries(
        outputs.map(({ path, sha256 }) => [path, isLocked(join(folder, path), sha256)]),
      )
    },
  }
}

const journals = (folder: string) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))

type Project = ReturnType<typeof createProject>

interface LockedBlock {
  readonly outputs?: readonly { readonly path: string; readonly sha256: string }[]
}

function isLocked(path: string, sha256: string): boolean {
  return existsSync(path) && createHash('sha256').update(readFileSync(path)).digest('hex') === sha256
}

/** Kills the run when so many more events are on disk. @returns whether it was killed before it had ended */
async function killAfter(project: Project, events: number, turns = 0): Promise<boolean> {
  const from = project.lines()
  const program = project.start()
  let hasEnded = false
  void program.ended.then(() => (hasEnded = true))
  await until(() => hasEnded || project.lines() >= from + events, project.runs)
  // A little later, so that not every kill follows a write.
  for (let turn = 0; turn < turns; turn++) await setImmediate()
  program.process.kill('SIGKILL')
  return (await program.ended).exit === 'SIGKILL'
}

async function finish(project: Project): Promise<void> {
  const { exit, stderr } = await project.start().ended
  expect([exit, exit === 0 ? '' : stderr]).toEqual([0, ''])
}

describe('a run of every command', () => {
  const allOutputs = {
    'hero.png': true,
    'banner.png': true,
    'teaser.mp4': true,
    'night.mp4': true,
    'caption.txt': true,
    'slogan.txt': true,
  }

  test('that is killed at any event is finished by the next one, and nothing is created twice', async () => {
    const measured = await runningSandbox()
    const whole = createProject(measured, everyCommand)
    await finish(whole)
    const events = whole.lines()
    expect([measured.created(), whole.outputs()]).toEqual([commands, allOutputs])
    // An intent and a result each, with their jobs, the beginning and the end.
    expect(events).toBeGreaterThanOrEqual(2 * commands + 2)

    let killed = 0
    for (let event = 1; event <= events; event++) {
      const sandbox = await runningSandbox()
      const project = createProject(sandbox, everyCommand)
      if (await killAfter(project, event)) killed++
      await finish(project)
      const account = { created: sandbox.created(), outputs: project.outputs() }
      expect(account, `killed at event ${event}`).toEqual({
        created: commands,
        outputs: allOutputs,
      })
      await sandbox.close()
    }
    // After its last event a run may end before it is killed.
    expect(killed).toBeGreaterThanOrEqual(events - 2)
  }, 600_000)
})

describe('a gateway that does not honour idempotency keys', () => {
  test('is never asked twice for what may have been created: that job stops, and the others go on', async () => {
    const exits = new Set<unknown>()
    // The first event is the beginning, the next one an intent, and so on; each request is under way at one of these.
    for (let event = 2; event <= 14; event++) {
      const sandbox = await runningSandbox()
      const project = createProject(sandbox, everyCommand, false)
      await killAfter(project, event)
      const { exit } = await project.start().ended
      exits.add(exit)
      expect([0, 7]).toContain(exit)
      // A text is asked for again: it costs little.
      const intents = project.instancesWith('intent').filter((id) => !texts.includes(id))
      expect(intents, `killed at event ${event}`).toEqual([...new Set(intents)])
      const created = sandbox.created() - sandbox.created('responses') - sandbox.created('generate-content')
      expect(created).toBeLessThanOrEqual(commands - texts.length)
      await sandbox.close()
    }
    expect(exits).toContain(7)
  }, 600_000)
})

describe('a run of two hundred jobs', () => {
  const jobs = 200
  const rows = Array.from(
    { length: jobs / 2 },
    (_, index) => `    - { id: n${index}, name: boat ${index} }`,
  ).join('\n')
  const manifest = `
version: 1
jobs:
  photos:
    each:
${rows}
    image create: { model: gpt-image-2, prompt: "\${name}" }
    out: photos/\${id}.png
  captions:
    each:
${rows}
    respond: { model: some-text-model, input: "A caption of \${name}", attach: "@photos[\${id}]" }
    out: captions/\${id}.txt
`

  test('that is killed again and again, 300 times in all, creates 200 results each time, and loses none', async () => {
    const random = seededRandom(20_261_122)
    let killed = 0
    const killAgainAndAgain = async () => {
      while (killed < 300) {
        const sandbox = await runningSandbox()
        const project = createProject(sandbox, manifest)
        // It ends by itself only when nothing is left to do.
        while (await killAfter(project, 1 + Math.floor(random() * 4), Math.floor(random() * 20))) killed++
        await finish(project)
        const outputs = Object.values(project.outputs())
        const whole = outputs.filter((isWhole) => isWhole).length
        expect([sandbox.created(), outputs.length, whole]).toEqual([jobs, jobs, jobs])
        await sandbox.close()
      }
    }
    await Promise.all([killAgainAndAgain(), killAgainAndAgain()])
  }, 1_200_000)
})
