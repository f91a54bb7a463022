import { expect, test } from 'vitest'
import { ModelgateError } from '../../../src/errors.ts'
import type { RunDocument, RunEvent, RunInstance } from '../../../src/events/run-document.ts'
import { createOutput, type OutputOptions } from '../../../src/output/create-output.ts'
import { runRenderer } from '../../../src/output/run/run-output.ts'
import { loadColours } from '../../../src/output/screen.ts'
import { drawableSink, screenOf } from '../../support/drawable-sink.ts'
import {
  failedInstance,
  sampleInstance,
  sampleRun,
  sampleRunEvents,
  sampleRunFile,
  stateCounts,
} from '../../support/run-samples.ts'
import { testContext } from '../../support/test-context.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { maskPng } from '../../support/test-images.ts'

interface Play extends Partial<OutputOptions> {
  readonly live?: boolean
  readonly columns?: number
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Standard output is the same terminal. */
  readonly terminal?: boolean
}

function play({ live = false, columns = 80, env, cwd = '/', terminal = false, ...options }: Play = {}) {
  const stderr = live ? { stderr: drawableSink({ columns }) } : {}
  const context = testContext({ env: { NO_COLOR: '1', ...env }, cwd, columns, terminal, ...stderr })
  const usual = { quiet: false, usage: false, result: 'files', own: runRenderer } as const
  const output = createOutput(context, { ...usual, ...options })
  const linesOf = (text: string) => text.split('\n').slice(0, -1)
  return {
    ...context,
    output,
    screen: () => screenOf(context.stderr),
    out: () => linesOf(context.stdout.text),
    err: () => linesOf(context.stderr.text),
  }
}

const imageLane = { lane: 'image', to_make: 10, concurrency: 4 } as const
const plan = {
  ...sampleRunEvents['plan-make'],
  states: stateCounts({ new: 13 }),
  lanes: [imageLane, { lane: 'video', to_make: 3, concurrency: 2 }],
  creates: { planned: 13, made: 2, limit: 40 },
} satisfies RunEvent
const start = (instance: string, lane: 'image' | 'video' = 'image') =>
  ({ ...sampleRunEvents['instance-start'], instance, lane }) satisfies RunEvent
const advance = (instance: string, changes: object): RunEvent => ({
  ...sampleRunEvents['instance-progress'],
  instance,
  ...changes,
})
const end = (changes: Partial<RunInstance> = {}): RunEvent => ({
  type: 'instance-end',
  ...sampleInstance,
  ...changes,
})
const failed = end(failedInstance)
const teaser = { instance: 'teaser', lane: 'video', creates: 1 } as const
const mp4 = { ...sampleRunFile, path: 'assets/teaser.mp4', mime_type: 'video/mp4', seconds: 8 }

/** A run under way: one image done, one failed, two and a video being made. */
async function underWay({ clock, output }: ReturnType<typeof play>): Promise<void> {
  output.event(plan)
  for (const id of ['hero', 'banner', 'photos[shoe-de]']) output.event(start(id))
  output.event(start('teaser', 'video'))
  await clock.advance(20_000)
  output.event(advance('teaser', { percent: 45.5 }))
  output.event(end())
  output.event(failed)
  output.event(start('photos[hat]'))
  await clock.advance(12_000)
}

test('a board of a line for each lane stands below what failed', async () => {
  const run = play({ live: true })
  await underWay(run)
  expect(await run.screen()).toEqual([
    'hero: generated assets/hero.webp, 1536x1024, 48.2 kB, in 0:12',
    'banner: failed: The prompt was blocked. It may have been billed.',
    'image  █████░░░░░░░░░░░░░░░░░░░░░░░  2/10  2 of 4 running  photos[shoe-de] 0:32',
    'video  ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░   0/3  1 of 2 running  teaser 45% 0:32',
    '2 of 13 done  1 failed  about 0.04 of 0.08 USD  4 of 40 created',
  ])
})

test('on a narrow terminal no line is longer', async () => {
  for (const [columns, board] of [
    [
      40,
      [
        'image  ██░░░░░░░░  2/10  2 of 4 running',
        'video  ░░░░░░░░░░   0/3  1 of 2 running',
        '2 of 13 done  1 failed',
      ],
    ],
    [20, ['image  █░░░░░  2/10', 'video  ░░░░░░   0/3', '2 of 13 done']],
  ] as const) {
    const run = play({ live: true, columns })
    await underWay(run)
    const lines = await run.screen()
    expect(lines.slice(-3)).toEqual(board)
    expect(lines.filter((line) => line.length > columns)).toEqual([])
  }
})

test('the board is gone when the run has ended', async () => {
  const run = play({ live: true })
  await underWay(run)
  await run.output.end(sampleRun)
  await run.clock.advance(1_000)
  expect((await run.screen()).slice(2, 4)).toEqual([
    '2 instances: 1 fresh, 1 new, 1 failed',
    '1 of 40 created',
  ])
})

test('what a lane waits for and the time left are on the board, an outage above it', async () => {
  const run = play({ live: true })
  run.output.event({ ...plan, lanes: [imageLane] })
  run.output.event(start('hero'))
  run.output.event(end({ took_s: 30 }))
  run.output.event(sampleRunEvents['lane-change'])
  await run.clock.advance(5_000)
  run.output.event(sampleRunEvents['circuit-change'])
  await run.clock.advance(200)
  expect((await run.screen()).slice(-3)).toEqual([
    'requests are held back: Five failures in a row.',
    'image  ███░░░░░░░░░░░░░░░░░░░░░░░░░░░  1/10  paused 0:14  0 of 2 running',
    '1 of 10 done  ~2:15 left  about 0.04 of 0.08 USD  3 of 40 created',
  ])
  run.output.event({ type: 'circuit-change', open: false, reason: 'The gateway answers again.' })
  await run.clock.advance(20_000)
  expect((await run.screen()).slice(-2)).toEqual([
    'image  ███░░░░░░░░░░░░░░░░░░░░░░░░░░░  1/10  0 of 2 running',
    '1 of 10 done  ~2:15 left  about 0.04 of 0.08 USD  3 of 40 created',
  ])
})

test('what waits for its next attempt is not under way, and each candidate counts', async () => {
  const run = play({ live: true })
  run.output.event({ ...plan, lanes: [imageLane] })
  for (let at = 1; at <= 8; at++) run.output.event(start(`photos[${at}]`))
  for (const variant of [1, 2]) run.output.event({ ...start('hero'), variant })
  for (let at = 1; at <= 7; at++) {
    run.output.event(advance(`photos[${at}]`, { state: 'waiting', percent: null }))
  }
  await run.clock.advance(1_000)
  expect((await run.screen()).at(-2)).toContain('3 of 4 running')
  run.output.event(end())
  await run.clock.advance(1_000)
  expect((await run.screen()).at(-2)).toContain('1 of 4 running')
})

test('the board is redrawn at most ten times a second, however many results come', async () => {
  const run = play({ live: true, terminal: true, quiet: false })
  run.output.event(plan)
  run.output.event(start('teaser', 'video'))
  const before = run.stderr.text.length
  for (let percent = 0; percent < 1000; percent++) {
    run.output.event(advance('teaser', { percent: percent / 10 }))
    await run.clock.advance(1)
  }
  const frames = run.stderr.text.slice(before).split('\r\u001b[').length - 1
  expect(frames).toBeLessThanOrEqual(11)
})

const lost = { code: 'cut', exit_code: 7, billed: 'maybe', message: 'The connection was lost.' } as const
/** Of an instance without a file in its place. */
const open = (instance: string, state: RunInstance['state'], changes: Partial<RunInstance>) =>
  end({ instance, state, placed: false, ...changes })
const logged: readonly RunEvent[] = [
  plan,
  start('hero'),
  end(),
  failed,
  end({ ...teaser, action: 'restored', files: [mp4], reasons: [] }),
  end({ instance: 'moved', action: 'moved' }),
  end({ instance: 'loose', action: 'accepted' }),
  open('own', 'changed', { action: 'kept', reasons: ['assets/own.webp is not as locked.'] }),
  open('four', 'awaiting', { action: 'awaiting', files: [mp4], reasons: ['Candidates to pick from: 1, 2.'] }),
  open('late', 'blocked', { action: 'skipped', files: [], reasons: ['It waits for four.'] }),
  open('small', 'rejected', { action: 'rejected', reasons: ['width is 512, not 1536'] }),
  open('lost', 'unknown', { action: 'unknown', files: [], error: lost }),
  sampleRunEvents['lane-change'],
  sampleRunEvents['circuit-change'],
]

test('in a pipe each result is a line, and its path alone is on standard output', async () => {
  const run = play()
  for (const event of logged) run.output.event(event)
  await run.output.flush()
  const hero = 'assets/hero.webp'
  expect(run.out()).toEqual([hero, 'assets/teaser.mp4', hero, hero])
  expect(run.err()).toEqual([
    'hero: generated assets/hero.webp, 1536x1024, 48.2 kB, in 0:12',
    'banner: failed: The prompt was blocked. It may have been billed.',
    'teaser: restored assets/teaser.mp4',
    'moved: moved assets/hero.webp',
    'loose: accepted assets/hero.webp',
    'own: left alone: assets/own.webp is not as locked.',
    'four: waiting for a pick. Candidates to pick from: 1, 2.',
    'late: not made: It waits for four.',
    'small: rejected: width is 512, not 1536',
    'lost: outcome unknown: The connection was lost. It may have been billed.',
    'image: 2 at once, after 0:20: The gateway asks to wait.',
    'requests are held back: Five failures in a row.',
  ])
})

test('--quiet leaves what failed', async () => {
  const run = play({ quiet: true })
  for (const event of logged) run.output.event(event)
  await run.output.end(sampleRun)
  expect(run.err()).toEqual([
    'banner: failed: The prompt was blocked. It may have been billed.',
    'small: rejected: width is 512, not 1536',
    'lost: outcome unknown: The connection was lost. It may have been billed.',
  ])
})

test('where paths are seen on the same terminal, their lines are not told twice', async () => {
  const run = play({ live: true, terminal: true })
  run.output.event(plan)
  run.output.event(start('hero'))
  run.output.event(end())
  run.output.event(failed)
  await run.output.end({ ...sampleRun, left: [], orphans: [] })
  expect(run.stdout.text).toBe('assets/hero.webp\n')
  expect(await run.screen()).toEqual([
    'banner: failed: The prompt was blocked. It may have been billed.',
    '2 instances: 1 fresh, 1 new, 1 failed',
    '1 of 40 created',
  ])
})

test('the end says what is left, with the commands, and what can be done about two groups once', async () => {
  const run = play()
  const again = { message: 'Run it.', commands: [['modelgate', 'run']] }
  const document: RunDocument = {
    ...sampleRun,
    cost: { amount: 0.04, currency: 'USD', estimate: true, reason: null },
    left: [
      {
        state: 'awaiting',
        instances: ['a', 'b', 'c', 'd', 'e', 'f', 'g'],
        message: 'Look at the candidates',
        commands: [
          ['modelgate', 'run', 'pick', 'a', '2', '-f', 'a b.yaml'],
          ['modelgate', 'runs'],
        ],
      },
      { state: 'stale', instances: ['old'], ...again },
      { state: 'new', instances: ['young'], ...again },
      { state: 'blocked', instances: ['teaser'], message: 'It waits.', commands: [] },
    ],
  }
  await run.output.end(document)
  expect(run.err()).toEqual([
    '2 instances: 1 fresh, 1 new, 1 failed',
    '1 of 40 created, about 0.04 USD by estimate',
    '7 awaiting: a, b, c, d, e and 2 more',
    '  Look at the candidates',
    "    modelgate run pick a 2 -f 'a b.yaml'",
    '    modelgate runs',
    '1 stale: old',
    '1 new: young',
    '  Run it.',
    '    modelgate run',
    '1 blocked: teaser',
    '  It waits.',
    '1 in the lock and not in the manifest: old; run clean --outputs lists what they made',
  ])
})

test.each<[string, Readonly<Record<string, string>>, RegExp]>([
  ['a terminal', {}, /\u001b\[2J|\u001b\]|\u0007/],
  ['a runner', { CI: 'true', GITHUB_ACTIONS: 'true' }, /^\s*::set-env|##\[/m],
])('hostile names and messages do not act on %s', async (_, env, forbidden) => {
  const hostile = '::set-env name=A::\u001b[2J\u001b]0;x\u0007\r\n::set-env::##[group]'
  const run = play({ live: true, terminal: env['CI'] === undefined, env })
  run.output.event(plan)
  run.output.event(start(hostile))
  run.output.event(end({ instance: hostile, files: [{ ...sampleRunFile, path: hostile }] }))
  run.output.event(end({ instance: hostile, action: 'rejected', placed: false, reasons: [hostile] }))
  run.output.event({ type: 'circuit-change', open: true, reason: hostile })
  run.output.event(start(hostile))
  await run.clock.advance(300)
  const left = { state: 'failed', instances: [hostile], message: hostile, commands: [[hostile]] } as const
  await run.output.end({ ...sampleRun, left: [left], orphans: [hostile] })
  expect(run.stdout.text).toContain('set-env')
  expect(run.stdout.text).not.toMatch(forbidden)
  expect(run.stderr.text).not.toMatch(forbidden)
})

test('a shard shows the folder of its part: nothing is where its outputs belong', async () => {
  const run = play({ live: true, terminal: true })
  const part = '.modelgate/parts/2-of-5'
  run.output.event({ ...plan, part })
  run.output.event(end())
  await run.output.end({ ...sampleRun, shard: '2/5', part, left: [], orphans: [] })
  expect(run.out()).toEqual([part])
  expect((await run.screen())[0]).toBe('hero: generated assets/hero.webp, 1536x1024, 48.2 kB, in 0:12')
})

test('GitHub gets at most nine annotations, the last for the error of the command', async () => {
  const run = play({ env: { GITHUB_ACTIONS: 'true' } })
  for (let count = 1; count <= 30; count++) {
    run.output.event(end({ ...failedInstance, instance: `photo-${count}` }))
  }
  await run.output.error(new ModelgateError('partial', 'some_failed', '30 of 43 failed.'), sampleRun)
  const annotations = run.err().filter((line) => line.startsWith('::'))
  expect(annotations).toHaveLength(9)
  expect(annotations[0]).toBe(
    '::error title=modelgate run%3A photo-1::photo-1: failed: The prompt was blocked. It may have been billed.',
  )
  expect(annotations[8]).toContain('::error title=modelgate%3A some_failed (exit 12)::30 of 43 failed.')
})

test('--json and --jsonl keep standard error for what failed', async () => {
  for (const mode of ['json', 'jsonl'] as const) {
    const run = play({ mode })
    run.output.event({ type: 'start', version: 1, command: 'run', model: null })
    for (const event of logged) run.output.event(event)
    await run.output.end(sampleRun)
    const told = run.err().map((line) => line.split(':')[0])
    expect(told).toEqual(['banner', 'small', 'lost', 'requests are held back'])
    expect(JSON.parse(run.out().at(-1)!)).toMatchObject({ command: 'run', states: { fresh: 1 } })
  }
})

test('on a terminal the plan has colours, and words that would act on the terminal do not', async () => {
  await loadColours(testContext({ terminal: true }))
  const run = play({ terminal: true, env: { NO_COLOR: '' } })
  const instance = { ...sampleInstance, state: 'new', output: 'a\u001b[31m.png' } as const
  await run.output.end({ ...sampleRun, mode: 'plan', instances: [instance] })
  const table = run.stdout.text
  expect(table).toContain('\u001b[36mnew')
  expect(table).not.toContain('\u001b[31m')
})

/** What a terminal gets of a run that makes one picture. */
async function bytesOf(env: Readonly<Record<string, string>>, content?: Uint8Array): Promise<string> {
  const cwd = temporaryFolder()
  writeFiles(cwd, { 'a.png': content ?? (await maskPng(64)) })
  const { stderr, output } = play({ live: true, env, cwd })
  output.event(start('hero'))
  output.event(end({ files: [{ ...sampleRunFile, path: 'a.png', mime_type: 'image/png' }] }))
  await output.end({ ...sampleRun, left: [], orphans: [] })
  return stderr.text
}

const picture = '\u001b_G'

test('the newest result is shown where the terminal shows pictures, before the run ends', async () => {
  const text = await bytesOf({ KITTY_WINDOW_ID: '1' })
  expect(text).toContain(picture)
  expect(text.lastIndexOf(picture)).toBeLessThan(text.indexOf('2 instances'))
})

test.each([
  ['half blocks would be all that it shows', {}],
  ['it is the log of a runner', { KITTY_WINDOW_ID: '1', CI: 'true' }],
  ['it is inside screen', { KITTY_WINDOW_ID: '1', STY: '1.tty' }],
])('none is shown where %s', async (_, env) => {
  expect(await bytesOf(env)).not.toMatch(/\u001b_G|▀/)
})

test('a picture that cannot be read is told by its path alone', async () => {
  const text = await bytesOf({ KITTY_WINDOW_ID: '1' }, new Uint8Array([1, 2, 3]))
  expect(text).toContain('hero: generated a.png')
  expect(text).not.toContain(picture)
})
