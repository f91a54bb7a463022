import { expect, test } from 'vitest'
import type { VideoDocument } from '../../src/events/video.ts'
import { ModelgateError } from '../../src/errors.ts'
import { createGate } from '../../src/output/gate.ts'
import { createOutput, type OutputOptions } from '../../src/output/create-output.ts'
import { loadColours } from '../../src/output/screen.ts'
import { sampleEvents, sampleVideoDocument } from '../support/output-samples.ts'
import { testContext } from '../support/test-context.ts'

// The test clock stands at 2026-01-01T00:00:00Z.
const now = Date.UTC(2026, 0, 1) / 1000

async function printed(
  document: Partial<VideoDocument>,
  options: Partial<OutputOptions> = {},
  terminal = false,
) {
  const context = testContext({ terminal, env: { NO_COLOR: '1' } })
  const output = createOutput(context, { quiet: false, usage: false, result: 'job', ...options })
  await output.end({ ...sampleVideoDocument, ...document })
  return context.stdout.text.split('\n')
}

test('a job is reported line by line: its id, its state, how long its result is kept', async () => {
  expect(await printed({ created_at: now - 600, completed_at: now - 540, expires_at: now + 3_120 })).toEqual([
    'id        video_1',
    'model     video-model',
    'state     completed',
    'progress  100%',
    'seconds   4',
    'size      1280x720',
    'remix of  video_0',
    'created   2025-12-31T23:50:00Z (10 min ago)',
    'completed 2025-12-31T23:51:00Z (9 min ago)',
    'expires   2026-01-01T00:52:00Z (in 52 min)',
    'file      a.mp4',
    'reason    It was filtered.',
    '',
  ])
})

test.each([
  ['in_progress', 'rendering', 'in_progress (gateway says "rendering")'],
  ['pending', 'PENDING', 'pending'],
  ['in_progress', null, 'in_progress'],
  [
    'in_progress',
    '\u001b]0;x\u0007\u009b2J',
    String.raw`in_progress (gateway says "\u001b]0;x\u0007\u{9b}2J")`,
  ],
] as const)('the state %s that the gateway calls %j', async (state, status, text) => {
  for (const terminal of [true, false]) {
    expect(await printed({ state, status }, {}, terminal)).toContain(`state     ${text}`)
  }
})

test('a job whose state is the failure of the command is reported all the same', async () => {
  const context = testContext({ env: { NO_COLOR: '1' } })
  const output = createOutput(context, { quiet: false, usage: false, result: 'job' })
  const failure = new ModelgateError('failed', 'generation_failed', 'The job video_1 failed: too dark')
  await output.error(failure, { ...sampleVideoDocument, state: 'failed' })
  expect(context.stdout.text).toContain('state     failed')
  expect(context.stderr.text).toContain('too dark')
})

test.each([
  ['completed', '32'],
  ['in_progress', '36'],
  ['pending', '2'],
  ['failed', '31'],
] as const)('on a terminal the state %s has a colour, and NO_COLOR takes it away', async (state, code) => {
  const rowOf = async (terminal: boolean, env: Readonly<Record<string, string>>) => {
    const context = testContext({ terminal, env })
    await loadColours(context)
    const output = createOutput(context, { quiet: false, usage: false, result: 'job' })
    await output.end({ ...sampleVideoDocument, state, status: state })
    return context.stdout.text.split('\n').find((line) => line.startsWith('state'))
  }
  expect(await rowOf(true, {})).toContain(`state     \u001b[${code}m${state}\u001b[`)
  expect(await rowOf(true, { NO_COLOR: '1' })).toBe(`state     ${state}`)
  expect(await rowOf(false, { FORCE_COLOR: '1' })).toBe(`state     ${state}`)
})

test('what is not known is left out', async () => {
  const unknown = {
    model: null,
    status: null,
    progress: null,
    seconds: null,
    size: null,
    remixed_from_video_id: null,
    created_at: null,
    completed_at: null,
    expires_at: null,
    files: [],
    failures: [],
  }
  expect(await printed({ ...unknown, state: 'pending' })).toEqual([
    'id        video_1',
    'state     pending',
    '',
  ])
})

test.each([
  [now, '2026-01-01T00:00:00Z (0 s ago)'],
  [now - 7_200, '2025-12-31T22:00:00Z (2 h ago)'],
  [now + 0.5, '2026-01-01T00:00:00.500Z (in 0 s)'],
  [1e18, '1000000000000000000 (in '],
])('expiry at %d is %s', async (expires_at, text) => {
  const rows = await printed({ expires_at })
  expect(rows.find((row) => row.startsWith('expires'))).toContain(`expires   ${text}`)
})

test('a job that goes on by itself is only its id', async () => {
  expect(await printed({}, { result: 'job-id' })).toEqual(['video_1', ''])
})

test('whatever the gateway calls a job, it is one line, and harmless on a terminal', async () => {
  expect(await printed({ id: 'a\n\u001b[2Jb' }, { result: 'job-id' }, true)).toEqual(['a ␛[2Jb', ''])
})

test("what a gateway's object hides is not shown", async () => {
  const context = testContext()
  const video = { echo: 'sk-very-secret-key-123456' }
  const output = createOutput(context, {
    mode: 'json',
    quiet: false,
    usage: false,
    gate: createGate(context, [video.echo]),
  })
  await output.end({ ...sampleVideoDocument, video })
  expect(context.stdout.text).toContain('"video":{"echo":"[hidden]"}')
})

test('--jsonl writes what precedes a wait at once, without secrets', () => {
  const context = testContext()
  const secret = 'sk-very-secret-key-123456'
  const output = createOutput(context, {
    mode: 'jsonl',
    quiet: true,
    usage: false,
    gate: createGate(context, [secret]),
  })
  output.event(sampleEvents.start)
  for (const type of [
    'job-create',
    'job-progress',
    'poll-fail',
    'download-progress',
    'video-save',
  ] as const) {
    const before = context.stdout.text.length
    output.event({ ...sampleEvents[type], ...(type === 'poll-fail' ? { reason: `no ${secret}` } : {}) })
    expect(context.stdout.text.slice(before)).toContain(`{"type":"${type}"`)
  }
  output.event({
    type: 'video-fail',
    id: 'video_1',
    failure: { index: 2, code: 'odd', message: secret, rescued: null },
  })
  expect(context.stdout.text).toContain('"message":"[hidden]"')
  expect(context.stdout.text).not.toContain(secret)
})
