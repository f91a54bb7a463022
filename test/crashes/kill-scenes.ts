import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Ended } from '../black-box/spawn-program.ts'
import { recordCall } from '../support/call-records.ts'
import { runToPoint } from '../support/run-to-point.ts'
import { fastClock } from '../support/fast-clock.ts'
import { noisyPng } from '../support/image-bytes.ts'
import { crashMachine, type Machine } from './machine.ts'

/** A call that is killed, and what is expected then. */
export interface KillScene {
  readonly name: string
  readonly call: readonly string[]
  /** What is there before. */
  prepare?(machine: Machine): Promise<unknown>
  /** The next call; by default the same. */
  next?(machine: Machine): NextCall
  /** How much the call creates; 1 by default. */
  readonly creates?: 0
  /** Called after that: what removes what is left of a call that was killed before its job was on record. */
  readonly tidy?: readonly string[]
  /** What else is expected in the end. */
  finally?(machine: Machine, ended: Ended): void
}

interface NextCall {
  readonly call: readonly string[]
  /** How it may end. */
  readonly exits: readonly number[]
  readonly creates: number
}

const image = ['image', 'create', '-m', 'gpt-image-2', '-n', '2', '--force', '-o', 'hero.png', 'A boat']
const video = ['video', 'generate', '-m', 'veo-3.1', '--wait', '--force', '-o', 'boat.mp4', 'A boat']
const generate = ['generate', '-m', 'sandbox-text', '--force']
const note = 'A note of before.'

async function callTwice(machine: Machine): Promise<void> {
  for (const prompt of ['One', 'Two']) await machine.finish([...generate, prompt])
}

const callsFolder = ({ state }: Machine) => join(state, 'calls')

/** The ends of calls on record. */
const ends = (machine: Machine) =>
  readdirSync(callsFolder(machine))
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(callsFolder(machine), name), 'utf8').split('\n'))
    .filter((line) => line.includes('"type":"end"'))

/** The calls of this month as those of an earlier one, too. */
async function callsOfTwoMonths(machine: Machine): Promise<void> {
  await callTwice(machine)
  for (const at of [0, 1])
    await recordCall(machine.state, { arguments: [], prompt: note }, Date.UTC(2020, 0, 1 + at))
}

interface SeenJob {
  readonly id: string | null
  readonly idempotency_key: string
}

/** The jobs on record. */
function jobs({ state }: Machine): readonly SeenJob[] {
  const folder = join(state, 'calls')
  if (!existsSync(folder)) return []
  const found = new Map<string, SeenJob>()
  const lines = readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
    .filter((line) => line.includes('"type":"job"') && line.endsWith('}'))
  for (const line of lines) {
    const { id, job, change, forgotten } = JSON.parse(line) as Record<string, string> & {
      readonly job?: SeenJob
      readonly change?: Partial<SeenJob>
    }
    if (forgotten) found.delete(id!)
    else found.set(id!, { ...found.get(id!), ...job, ...change } as SeenJob)
  }
  return [...found.values()]
}

export const scenes: readonly KillScene[] = [
  {
    name: 'image create',
    call: image,
    prepare: async ({ cwd }) => writeFileSync(join(cwd, 'hero-2.png'), note),
  },
  {
    name: 'image edit',
    call: ['image', 'edit', '-m', 'gpt-image-2', '--image', 'in.png', '--force', '-o', 'out.png', 'Wider'],
    prepare: async ({ cwd }) => writeFileSync(join(cwd, 'in.png'), noisyPng(300, 300)),
  },
  {
    name: 'video generate --wait',
    call: video,
    next: (machine) => {
      const [job] = jobs(machine)
      if (job === undefined) {
        // What is not on record has not been sent.
        expect(machine.sandbox.created()).toBe(0)
        return { call: video, exits: [0], creates: 1 }
      }
      // Nobody knows more of a job than its key until its id has come.
      return { call: ['wait', '--last'], exits: job.id === null ? [0, 2] : [0], creates: 0 }
    },
    tidy: ['jobs'],
    finally(machine, { exit, stderr }) {
      const [job, ...others] = jobs(machine)
      expect(others).toEqual([])
      if (exit !== 0) expect(stderr).toContain(job?.idempotency_key)
      expect(machine.files().has('boat.mp4')).toBe(exit === 0)
    },
  },
  {
    name: 'jobs --prune',
    call: ['jobs', '--prune'],
    async prepare(machine) {
      for (const name of ['one', 'two']) {
        await machine.finish(['video', 'generate', '-m', 'veo-3.1', '--wait', '-o', `${name}.mp4`, name])
      }
    },
    creates: 0,
    finally: (machine) => expect(jobs(machine)).toEqual([]),
  },
  {
    name: 'generate, which is logged',
    call: [...generate, 'A word'],
    prepare: callTwice,
    finally(machine) {
      // Those of before, the next one, and the killed one if it got so far.
      const count = ends(machine).length
      expect([3, 4]).toContain(count)
    },
  },
  {
    name: 'generate -o',
    call: [...generate, '-o', 'note.txt', 'A note'],
    prepare: async ({ cwd }) => writeFileSync(join(cwd, 'note.txt'), note),
  },
  {
    name: 'log clear',
    call: ['log', 'clear', '--force'],
    prepare: callsOfTwoMonths,
    creates: 0,
    finally(machine) {
      expect(ends(machine)).toEqual([])
      expect(readdirSync(join(callsFolder(machine), 'words'))).toEqual([])
    },
  },
  {
    name: 'log clear --before',
    call: ['log', 'clear', '--force', '--before', '2021-01-01'],
    prepare: callsOfTwoMonths,
    creates: 0,
    finally: (machine) => expect(ends(machine)).toHaveLength(2),
  },
  {
    name: 'config set',
    call: ['config', 'set', 'text_model', 'another-model'],
    prepare: (machine) => machine.finish(['config', 'set', 'text_model', 'some-model']),
    creates: 0,
    finally(machine) {
      const text = readFileSync(join(machine.root, 'config/config.yaml'), 'utf8')
      expect(text).toContain('text_model: another-model\n')
    },
  },
]

const sandbox = { clock: fastClock }

/** A scene with what is there before, and after a call that nobody killed. */
export async function rehearse(scene: KillScene) {
  const prepared = await crashMachine({ sandbox })
  await scene.prepare?.(prepared)
  const before = prepared.files()
  const whole = await crashMachine({ like: prepared, sandbox })
  // The first one compiles the program's code, and keeps it.
  await whole.start(scene.call).ended
  const measured = await crashMachine({ like: prepared, sandbox })
  const points = await runToPoint((env) => measured.start(scene.call, env), 0)
  const after = measured.files()
  // Asked again for the same, the gateway gives something else.
  if (scene.creates !== 0) await measured.finish(scene.call)
  return { prepared, states: [before, after, measured.files()], points }
}

export type Rehearsed = Awaited<ReturnType<typeof rehearse>>

const temporaryName =
  /(?:^project\/\.(?:hero-[12]|out|boat|note)\.(?:png|mp4|txt)\.[0-9a-f]{16}\.mgpart|^state\/jobs\/[^/]+\/\.record\.[0-9a-f]{16}\.mgpart|^config\/\.config\.[a-z.]+\.[0-9a-f]{16}\.mgpart|^config\/config\.[a-z.]+\.lock)$/

/** Kills the call at a point, or so many turns of its event loop later, and expects no harm, and none after the next call. */
export async function killAt(
  scene: KillScene,
  rehearsed: Rehearsed,
  point: number,
  turns = 0,
): Promise<void> {
  const { prepared, states } = rehearsed
  const [before, after] = states
  const machine = await crashMachine({ like: prepared, sandbox })
  const at = `${scene.name}, killed at ${rehearsed.points[point - 1]}, ${turns} turns later`
  await runToPoint((env) => machine.start(scene.call, env), point, turns)
  const isKnown = (name: string, content: Buffer) =>
    states.some((files) => files.get(name)?.equals(content) === true)
  const damaged = () =>
    [...machine.files()].flatMap(([name, content]) => (isKnown(name, content) ? [] : [name]))
  const killed = {
    damaged: damaged(),
    gone: [...before!.keys()].filter((name) => !machine.files().has(name)),
    records: machine.brokenRecords(),
    leftovers: machine.leftovers().filter((name) => !temporaryName.test(name)),
  }
  expect.soft(killed, at).toEqual({ damaged: [], gone: [], records: [], leftovers: [] })

  machine.ageLeftovers()
  const same = { call: scene.call, exits: [0], creates: scene.creates ?? 1 }
  const { call, exits, creates } = scene.next?.(machine) ?? same
  const ended = await machine.start(call).ended
  if (scene.tidy !== undefined) await machine.finish(scene.tidy)
  const isExpected = exits.some((exit) => exit === ended.exit)
  const completed = {
    ended: isExpected ? '' : `${ended.exit}: ${ended.stderr}`,
    damaged: damaged(),
    missing: ended.exit === 0 ? [...after!.keys()].filter((name) => !machine.files().has(name)) : [],
    records: machine.brokenRecords(),
    leftovers: machine.leftovers(),
    // The killed call has created it once at most.
    created: [0, scene.creates ?? 1].includes(machine.sandbox.created() - creates),
  }
  expect
    .soft(completed, at)
    .toEqual({ ended: '', damaged: [], missing: [], records: [], leftovers: [], created: true })
  scene.finally?.(machine, ended)
  await machine.sandbox.close()
}
