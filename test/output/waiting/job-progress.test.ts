import { expect, test } from 'vitest'
import type { VideoEvent } from '../../../src/events/video.ts'
import { Interrupted } from '../../../src/errors.ts'
import { createOutput, type OutputOptions } from '../../../src/output/create-output.ts'
import { drawableSink, screenOf } from '../../support/drawable-sink.ts'
import { sampleEvents, sampleVideoDocument } from '../../support/output-samples.ts'
import { testContext } from '../../support/test-context.ts'
import * as fc from 'fast-check'
import { loadColours, stylesFor } from '../../../src/output/screen.ts'
import { drawLine, type LineParts } from '../../../src/output/job-progress.ts'
import { byteText, clockTime, roundedDuration } from '../../../src/quantities.ts'

type JobProgress = Extract<VideoEvent, { type: 'job-progress' }>

const progress = (changes: Partial<JobProgress> = {}): JobProgress => ({
  ...sampleEvents['job-progress'],
  status: changes.state ?? 'running',
  ...changes,
})
const download = (received: number, index = 1, total: number | null = 10_000_000): VideoEvent => ({
  type: 'download-progress',
  id: 'video_1',
  index,
  received,
  total,
})

function play({
  live = false,
  env = {},
  ...options
}: Partial<OutputOptions> & { live?: boolean; env?: Readonly<Record<string, string>> }) {
  const context = testContext({ env: { NO_COLOR: '1', ...env }, ...(live && { stderr: drawableSink() }) })
  const output = createOutput(context, { quiet: false, usage: false, result: 'files', ...options })
  return { ...context, output }
}

test('a log gets a line for each change of state, and one a minute as a sign of life', async () => {
  const { clock, stderr, output } = play({})
  for (let elapsed_s = 0; elapsed_s <= 150; elapsed_s += 10) {
    const state = elapsed_s < 20 ? 'pending' : 'in_progress'
    output.event(
      progress({ state, elapsed_s, progress: elapsed_s < 20 ? null : elapsed_s / 2, remaining_s: null }),
    )
    await clock.advance(10_000)
  }
  output.event(progress({ state: 'completed', elapsed_s: 160, progress: 80, remaining_s: 20 }))
  for (let part = 0; part <= 10; part++) output.event(download(part * 1_000_000))
  output.event(download(0, 2, null))
  expect(stderr.text.split('\n')).toEqual([
    'job: pending, after 0:00',
    'job: in_progress, 10%, after 0:20',
    'job: in_progress, 40%, after 1:20',
    'job: in_progress, 70%, after 2:20',
    'job: completed, after 2:40',
    'video 1: downloading, 0% of 10.0 MB',
    'video 2: downloading, 0 B',
    '',
  ])
})

test.each([
  ['GitHub', { CI: 'true', GITHUB_ACTIONS: 'true' }],
  ['a dumb terminal', { TERM: 'dumb' }],
])('%s gets plain lines, whatever the gateway calls the job', (_, env) => {
  const { stderr, output } = play({ live: true, env })
  const id = '::set-env \u001b[2J\r\n::error::##[group]'
  output.event({ type: 'job-create', id, kind: 'video' })
  output.event(progress({ id, status: '\u001b]0;title\u0007' }))
  output.event(download(5))
  expect(stderr.text).not.toMatch(/^\s*::/m)
  // oxlint-disable-next-line no-control-regex -- these are what must not be there
  expect(stderr.text).not.toMatch(/[\0-\t\u000b-\u001f\u007f]/)
})

test('an unknown state is reported once', () => {
  const { stderr, output } = play({})
  output.event(progress({ status: 'RUNNING' }))
  for (const status of ['gargling', 'gargling', 'humming']) output.event(progress({ status }))
  expect(stderr.text.match(/warning: .*/g)).toEqual([
    'warning: the gateway reports an unknown job state, "gargling"; it is treated as in_progress',
  ])
})

test.each([
  ['quiet', { quiet: true }],
  ['quiet, live', { quiet: true, live: true }],
  ['--jsonl, whose lines have it', { mode: 'jsonl' }],
] as const)('nothing is said on standard error: %s', (_, options) => {
  const { clock, stderr, output } = play(options)
  output.event(progress())
  output.event(download(5))
  expect(stderr.text).toBe('')
  expect(clock.pendingTimers).toBe(0)
})

test('the line goes on between two look-ups, never back', async () => {
  const { clock, stderr, output } = play({ live: true })
  const line = async (ms: number) => {
    await clock.advance(ms)
    return (await screenOf(stderr)).map((text) => text.replace(/^[█░]+ /, ''))
  }
  output.event(progress({ elapsed_s: 60, remaining_s: 30 }))
  expect(await line(0)).toEqual(['  40%  in_progress  1:00  ~0:30 left'])
  expect(await line(5_000)).toEqual(['  40%  in_progress  1:05  ~0:25 left'])
  output.event(progress({ progress: 12, elapsed_s: 65, remaining_s: null }))
  expect(await line(200)).toEqual(['  40%  in_progress  1:05'])
  output.event(progress({ progress: 1e9, elapsed_s: 66, remaining_s: null }))
  expect(await line(200)).toEqual([' 100%  in_progress  1:06'])
})

test('a notice is above the line, a path replaces it', async () => {
  const { clock, stderr, stdout, output } = play({ live: true })
  output.event(progress())
  output.event(sampleEvents['poll-fail'])
  const failed = 'look-up failed, next in 3 s: bad gateway (HTTP 502)'
  expect(await screenOf(stderr)).toEqual([failed, expect.stringContaining('40%  in_progress')])
  output.event(download(1_000_000))
  await clock.advance(1_000)
  output.event(download(3_000_000))
  await clock.advance(200)
  expect(await screenOf(stderr)).toEqual([
    failed,
    expect.stringMatching(/ 30% {2}downloading {2}3\.0 MB of 10\.0 MB {2}1\.7 MB\/s {2}~0:04 left$/),
  ])
  output.event(sampleEvents['video-save'])
  await output.flush()
  const saved = 'video 1: 1280x720 mp4, 4 s, 8 bytes'
  expect([await screenOf(stderr), stdout.text]).toEqual([[failed, saved], 'a.mp4\n'])
})

test.each([
  ['end', []],
  ['error', ['modelgate: Stopped.']],
  ['signal', []],
])('%s takes the line off, it does not come back, and no timer is left', async (how, left) => {
  const { clock, stderr, output, abort } = play({ live: true })
  output.event(progress())
  await clock.advance(1_000)
  if (how === 'end') await output.end(sampleVideoDocument)
  else if (how === 'error') await output.error(new Interrupted('interrupt'))
  else abort(new Interrupted('interrupt'))
  expect(await screenOf(stderr)).toEqual(left)
  if (how === 'signal') output.event(progress({ progress: 50 }))
  expect([await screenOf(stderr), clock.pendingTimers]).toEqual([left, 0])
})

test('of consecutive failed look-ups, the first and every fifth are reported', () => {
  const { stderr, output } = play({})
  for (let attempt = 1; attempt <= 11; attempt++) {
    output.event({ ...sampleEvents['poll-fail'], attempt, http_status: null, reason: 'reset' })
  }
  expect(stderr.text.split('\n')).toEqual([
    'look-up failed, next in 3 s: reset',
    'look-up failed 5 times in a row, next in 3 s: reset',
    'look-up failed 10 times in a row, next in 3 s: reset',
    '',
  ])
})

test('a terminal that takes nothing is not sent more and more', async () => {
  const { clock, stderr, output } = play({ live: true })
  output.event(progress())
  stderr.hold()
  const before = stderr.writes
  await clock.advance(10_000)
  expect(stderr.writes).toBe(before)
  stderr.release()
  await clock.advance(200)
  expect(stderr.writes).toBe(before + 1)
})

/** Three jobs, as `wait` shows them, of which the last is being downloaded. */
function board(rows: number) {
  const jobs = ['video_zzzz', 'video_1234567890abcdef', 'models/veo/operations/aaaabbbbcccc1']
  const run = play({ live: true, jobs })
  Object.assign(run.stderr.stream!, { rows })
  const [first, second, third] = jobs as [string, string, string]
  const show = async (...events: readonly VideoEvent[]) => {
    for (const event of events) run.output.event(event)
    await run.clock.advance(200)
    return await screenOf(run.stderr)
  }
  const early = [
    progress({ id: third, state: 'completed', progress: null }),
    progress({ id: second }),
    { ...download(500_000, 1, 1_000_000), id: third },
  ]
  const late = [
    { ...sampleEvents['video-save'], id: second },
    progress({ id: second, state: 'completed', progress: 100 }),
    progress({ id: first, state: 'failed', progress: null }),
    { ...sampleEvents['job-fail'], id: first },
  ]
  return { ...run, show, early, late, last: { ...download(1_000_000, 1, 1_000_000), id: third } }
}

test('several jobs have a line each, and that of a job that has ended stands still', async () => {
  const { show, early, late, last, output } = board(24)
  expect(await show(...early)).toEqual([
    'video_zzzz    ░███░░░░░░░░░░░░░░░░░░░░░░░░░░  looking up',
    'video_123456  ███████████░░░░░░░░░░░░░░░░░   40%  in_progress  0:20  ~0:29 left',
    'aaaabbbbcccc  ██████████████░░░░░░░░░░░░░░   50%  downloading  500 kB of 1.0 MB',
  ])
  const notices = ['video 1: 1280x720 mp4, 4 s, 8 bytes', 'job video_zzzz: It was filtered.']
  expect(await show(...late, last)).toEqual([
    ...notices,
    'video_zzzz    failed  0:20',
    'video_123456  completed  0:20',
    'aaaabbbbcccc  completed  0:20',
  ])
  await output.end(sampleVideoDocument)
  expect(await show()).toEqual(notices)
})

test('of more jobs than the terminal has rows those that run are shown', async () => {
  const { show, early, late } = board(3)
  expect((await show(...early)).slice(1)).toEqual(['2 more, 0 ended'])
  expect((await show(...late)).slice(2)).toEqual([
    'aaaabbbbcccc  ██████████████░░░░░░░░░░░░░░   50%  downloading  500 kB of 1.0 MB',
    '2 more, 2 ended',
  ])
})

test('what is drawn again is drawn over, not erased first', async () => {
  const { show, early, stderr } = board(24)
  await show(...early)
  const drawings = stderr.text.split('\r').filter((part) => part.includes('░'))
  expect(drawings.length).toBeGreaterThan(4)
  // Erasing only ever follows what has been drawn on the line.
  for (const drawing of drawings) expect(drawing).toMatch(/^\n?[^\u001b]+\u001b\[[JK]$/)
})

test('the bar is cyan and the rest dim', async () => {
  await loadColours(testContext({ terminal: true }))
  const { stderr, output } = play({ live: true, env: { NO_COLOR: '' } })
  output.event(progress())
  expect(stderr.text).toMatch(/\u001b\[36m█+\u001b\[39m\u001b\[2m░+\u001b\[22m/)
})

const running: LineParts = { percent: 42, label: 'in_progress', details: ['1:23', '~1:54 left'] }

const context = testContext()
const noStyles = stylesFor(context, context.stderr)
const draw = (parts: LineParts, width: number, step = 0) => drawLine(parts, step * 200, width, noStyles)

test.each([
  [79, '████████████░░░░░░░░░░░░░░░░░░   42%  in_progress  1:23  ~1:54 left'],
  [60, '█████████░░░░░░░░░░░░░░   42%  in_progress  1:23  ~1:54 left'],
  [39, '██████░░░░░░░░░   42%  1:23  ~1:54 left'],
  [19, '██░░░░░   42%  1:23'],
  [8, ' 42%'],
  [3, ' 42'],
  [0, ''],
])('at %i characters what matters most is kept', (width, line) => {
  expect(draw(running, width)).toBe(line)
})

test('without a percentage a part of the bar moves to and fro', () => {
  const pending = { ...running, percent: null, label: 'pending', details: ['0:05'] }
  const bars = [0, 1, 4, 5, 8].map((step) => draw(pending, 22, step).slice(0, 7))
  expect(bars).toEqual(['███░░░░', '░███░░░', '░░░░███', '░░░███░', '███░░░░'])
  expect(draw(pending, 22)).toBe('███░░░░  pending  0:05')
})

test('the bar is empty at nothing and full at everything only', () => {
  expect(draw({ ...running, percent: 0 }, 79)).not.toContain('█')
  expect(draw({ ...running, percent: 99 }, 79)).toContain('░')
  expect(draw({ ...running, percent: 100 }, 79)).not.toContain('░')
})

test('no line is wider than it may be', () => {
  const parts = fc.record({
    percent: fc.option(fc.integer({ min: 0, max: 100 })),
    label: fc.constantFrom('pending', 'in_progress', 'downloading 12'),
    details: fc.array(fc.string({ unit: 'grapheme-ascii', maxLength: 20 }), { maxLength: 3 }),
  })
  fc.assert(
    fc.property(parts, fc.nat(1000), fc.integer({ min: -1, max: 200 }), (line, step, width) => {
      expect(draw(line, width, step).length).toBeLessThanOrEqual(Math.max(0, width))
    }),
  )
})

test.each([
  [clockTime(-1), '0:00'],
  [clockTime(5.9), '0:05'],
  [clockTime(754), '12:34'],
  [clockTime(3599.9), '59:59'],
  [clockTime(3600), '1:00:00'],
  [clockTime(90_061), '25:01:01'],
  [roundedDuration(0.4), '0 s'],
  [roundedDuration(89), '89 s'],
  [roundedDuration(90), '1 min'],
  [roundedDuration(3120), '52 min'],
  [roundedDuration(5400), '1 h'],
  [roundedDuration(129_599), '35 h'],
  [roundedDuration(129_600), '1 d'],
  [byteText(999), '999 B'],
  [byteText(1000), '1.0 kB'],
  [byteText(99_949), '99.9 kB'],
  [byteText(99_950), '100 kB'],
  [byteText(999_499), '999 kB'],
  [byteText(999_500), '1.0 MB'],
  [byteText(2_147_483_648), '2.1 GB'],
  [byteText(5e15), '5000 TB'],
])('a time or a size is told as %s', (text, expected) => {
  expect(text).toBe(expected)
})
