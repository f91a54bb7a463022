import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/context.ts'
import type { JobListDocument } from '../../src/events/video.ts'
import { seededRandom } from '../../src/sandbox/seeded-random.ts'
import type { Ended } from '../black-box/spawn-program.ts'
import { atEach } from '../support/kill-points.ts'
import { recordCall } from '../support/call-records.ts'
import { namedPoints, runToPoint } from '../support/run-to-point.ts'
import { amount, sample, seedOf } from '../support/sample.ts'
import { crashMachine, generate, video, type Machine } from './machine.ts'

/** Its videos take no time. */
const clock = {
  ...systemClock,
  now: () => systemClock.now() * 20,
  monotonic: () => systemClock.monotonic() * 20,
}

/** A call that is killed, and what is expected then. */
interface KillScene {
  readonly name: string
  readonly call: readonly string[]
  /** What is there before. */
  prepare?(machine: Machine): Promise<unknown>
  /** The next call, how it may end, and what it creates; by default the same. */
  next?(machine: Machine): Promise<{
    readonly call: readonly string[]
    readonly exits: readonly number[]
    readonly creates: number
  }>
  /** How much the call creates; 1 by default. */
  readonly creates?: 0
  /** What else is expected in the end. */
  finally?(machine: Machine, ended: Ended): void | Promise<void>
}

const note = 'A note of before.'

async function callTwice(machine: Machine): Promise<void> {
  for (const prompt of ['One', 'Two']) await machine.finish([...generate, '--force', prompt])
}

/** The ends of calls on record. */
const ends = ({ state }: Machine) =>
  readdirSync(join(state, 'calls'))
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(state, 'calls', name), 'utf8').split('\n'))
    .filter((line) => line.includes('"type":"end"'))

/** The jobs on record. */
const jobsOf = async (machine: Machine) => (await machine.document<JobListDocument>('jobs')).jobs

const scenes: readonly KillScene[] = [
  {
    name: 'image create',
    call: ['image', 'create', '-m', 'gpt-image-2', '-n', '2', '--force', '-o', 'hero.png', 'A boat'],
    prepare: async ({ cwd }) => writeFileSync(join(cwd, 'hero-2.png'), note),
  },
  {
    name: 'video generate --wait',
    call: video,
    async next(machine) {
      const [job] = await jobsOf(machine)
      // What is not on record has not been sent.
      if (job === undefined) expect(machine.sandbox.created()).toBe(0)
      if (job === undefined) return { call: video, exits: [0], creates: 1 }
      // Nobody knows more of a job than its key until its id has come.
      return { call: ['wait', '--last'], exits: job.id === null ? [0, 2] : [0], creates: 0 }
    },
    async finally(machine, { exit, stderr }) {
      const [job, ...others] = await jobsOf(machine)
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
    finally: async (machine) => expect(await jobsOf(machine)).toEqual([]),
  },
  {
    name: 'generate -o, which is logged',
    call: [...generate, '--force', '-o', 'note.txt', 'A note'],
    async prepare(machine) {
      await callTwice(machine)
      writeFileSync(join(machine.cwd, 'note.txt'), note)
    },
    // Those of before, the next one, and the killed one if it got so far.
    finally: (machine) => expect([3, 4]).toContain(ends(machine).length),
  },
  {
    name: 'log clear --before',
    call: ['log', 'clear', '--force', '--before', '2021-01-01'],
    async prepare(machine) {
      await callTwice(machine)
      for (const day of [1, 2])
        await recordCall(machine.state, { arguments: [], prompt: note }, Date.UTC(2020, 0, day))
    },
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

/** A scene with what is there before, and after a call that nobody killed. */
async function rehearse(scene: KillScene) {
  const prepared = await crashMachine({ sandbox: { clock } })
  await scene.prepare?.(prepared)
  const before = prepared.files()
  const whole = await crashMachine({ like: prepared, sandbox: { clock } })
  // The first one compiles the program's code, and keeps it.
  await whole.start(scene.call).ended
  const measured = await crashMachine({ like: prepared, sandbox: { clock } })
  const points = await runToPoint((env) => measured.start(scene.call, env), 0)
  const after = measured.files()
  // Asked again for the same, the gateway gives something else.
  if (scene.creates !== 0) await measured.finish(scene.call)
  return { prepared, states: [before, after, measured.files()] as const, points }
}

const temporaryName =
  /(?:^project\/\.(?:hero-[12]|boat|note)\.(?:png|mp4|txt)\.[0-9a-f]{16}\.mgpart|^config\/\.config\.[a-z.]+\.[0-9a-f]{16}\.mgpart|^config\/config\.[a-z.]+\.lock)$/

/** Kills the call at a point, or so many turns of its event loop later, and expects no harm, and none after the next call. */
async function killAt(
  scene: KillScene,
  { prepared, states, points }: Awaited<ReturnType<typeof rehearse>>,
  { point, turns }: { readonly point: number; readonly turns: number },
): Promise<void> {
  const [before, after] = states
  const machine = await crashMachine({ like: prepared, sandbox: { clock } })
  const at = `${scene.name}, killed at ${points[point - 1]}, ${turns} turns later`
  await runToPoint((env) => machine.start(scene.call, env), point, turns)
  const isKnown = ([name, content]: readonly [string, Buffer]) =>
    states.some((files) => files.get(name)?.equals(content) === true)
  const harm = (expected: ReadonlyMap<string, Buffer>) => ({
    damaged: [...machine.files()].filter((file) => !isKnown(file)).map(([name]) => name),
    gone: [...expected.keys()].filter((name) => !machine.files().has(name)),
    records: machine.brokenRecords(),
    leftovers: machine.leftovers(),
  })
  const none = { damaged: [], gone: [], records: [], leftovers: [] }
  const killed = harm(before)
  const leftovers = killed.leftovers.filter((name) => !temporaryName.test(name))
  expect.soft({ ...killed, leftovers }, at).toEqual(none)

  machine.ageLeftovers()
  const same = { call: scene.call, exits: [0], creates: scene.creates ?? 1 }
  const { call, exits, creates } = (await scene.next?.(machine)) ?? same
  const ended = await machine.start(call).ended
  await scene.finally?.(machine, ended)
  expect.soft([exits.some((exit) => exit === ended.exit) ? '' : ended.stderr, at]).toEqual(['', at])
  expect.soft(harm(ended.exit === 0 ? after : new Map()), at).toEqual(none)
  // The killed call has created it once at most.
  expect.soft([0, scene.creates ?? 1], at).toContain(machine.sandbox.created() - creates)
  await machine.sandbox.close()
}

/** How many kills at random each scene gets, besides those at every named step. */
const kills = amount(2, 20)

test.each(sample(scenes, 2, ({ name }) => name))(
  '$name: killed at every step and at random, no harm is done, and the next call completes it',
  async (scene) => {
    const rehearsed = await rehearse(scene)
    const { length } = rehearsed.points
    const { first, last } = namedPoints(rehearsed.points)
    const random = seededRandom(seedOf(scene.name))
    const chosen = [
      ...[...first, ...last].map((point) => ({ point, turns: 0 })),
      ...Array.from({ length: kills }, () => ({
        point: 1 + Math.floor(random() * length),
        turns: Math.floor(random() * 12),
      })),
    ]
    expect(length).toBeGreaterThan(1)
    await atEach(chosen, (where) => killAt(scene, rehearsed, where))
  },
  600_000,
)

/** What starts a job of each other kind, and the file in which its result ends. */
const starts = [
  ['an operation', 'boat.mp4', 'video generate -m veo-3.1 --no-wait -o boat.mp4 Boat'],
  [
    'a remix',
    'night.mp4',
    'video remix -m sora-2 --no-wait --no-check -o night.mp4 video_sandbox_source Night',
  ],
  ['a background response', 'answer.txt', 'respond --background -m sandbox-text -o answer.txt Hello'],
  [
    'an image whose address fails',
    'hero.png',
    'image create -m dall-e-3 --response-format url -o hero.png Boat',
  ],
] as const

test.each(starts)(
  '%s, killed at every step, is taken by wait --all of another shell, and never made twice',
  async (_, file, words) => {
    const faults = [{ endpoint: 'image-files', times: 3, action: 'status', status: 503 }] as const
    const newMachine = () => crashMachine({ sandbox: { clock, faults } })
    const call = words.split(' ')
    const measured = await newMachine()
    const points = await runToPoint((env) => measured.start(call, env), 0)
    const { first, last } = namedPoints(points)
    let taken = 0
    await atEach([...new Set([...first, ...last])], async (point) => {
      const at = `killed at ${points[point - 1]}`
      const machine = await newMachine()
      await runToPoint((env) => machine.start(call, env), point)
      const created = machine.sandbox.created()
      const jobs = await jobsOf(machine)
      const isKnown = jobs.some(({ id }) => id !== null)
      // The address of an image may still fail.
      const first = await machine.start(['wait', '--all']).ended
      const second = await machine.start(['wait', '--all']).ended
      expect({
        at,
        created: created <= 1,
        // Only the reply to an image is on record after it was read; of every other job the key was before.
        isOnRecord: file === 'hero.png' || jobs.length >= created,
        first: [0, 11].includes(first.exit as number) ? '' : first.stderr,
        second: second.exit === 0 ? '' : second.stderr,
        createdLater: machine.sandbox.created() - created,
        files: [...machine.files().keys()],
      }).toEqual({
        at,
        created: true,
        isOnRecord: true,
        first: '',
        second: '',
        createdLater: 0,
        files: isKnown ? [file] : [],
      })
      taken += Number(isKnown)
      await machine.sandbox.close()
    })
    expect(taken).toBeGreaterThan(0)
  },
  600_000,
)
