import { expect, test } from 'vitest'
import type { VideoDocument } from '../../src/events/video.ts'
import { ModelgateError } from '../../src/errors.ts'
import { createOutput, type OutputOptions } from '../../src/output/create-output.ts'
import { loadColours } from '../../src/output/screen.ts'
import { sampleVideoDocument } from '../support/output-samples.ts'
import { testContext, type TestOverrides } from '../support/test-context.ts'

// The test clock stands at 2026-01-01T00:00:00Z.
const now = Date.UTC(2026, 0, 1) / 1000

async function printed(
  document: Partial<VideoDocument>,
  options: Partial<OutputOptions> = {},
  overrides: TestOverrides = {},
) {
  const context = testContext({ env: { NO_COLOR: '1' }, ...overrides })
  await loadColours(context)
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
  ['pending', '\u001b]0;x\u009b2J', String.raw`pending (gateway says "\u001b]0;x\u{9b}2J")`],
] as const)('the state %s that the gateway calls %j', async (state, status, text) => {
  expect(await printed({ state, status })).toContain(`state     ${text}`)
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
  const linesOn = (terminal: boolean, env: Readonly<Record<string, string>>) =>
    printed({ state, status: state }, {}, { terminal, env })
  const coloured = expect.stringContaining(`state     \u001b[${code}m${state}\u001b[`)
  expect(await linesOn(true, {})).toContainEqual(coloured)
  expect(await linesOn(true, { NO_COLOR: '1' })).toContain(`state     ${state}`)
  expect(await linesOn(false, { FORCE_COLOR: '1' })).toContain(`state     ${state}`)
})

test('what is not known is left out', async () => {
  const facts = {
    model: null,
    status: null,
    progress: null,
    seconds: null,
    size: null,
    files: [],
    failures: [],
  }
  const others = { remixed_from_video_id: null, created_at: null, completed_at: null, expires_at: null }
  const lines = await printed({ ...facts, ...others, state: 'pending' })
  expect(lines).toEqual(['id        video_1', 'state     pending', ''])
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
  expect(await printed({ id: 'a\n\u001b[2Jb' }, { result: 'job-id' }, { terminal: true })).toEqual([
    'a ␛[2Jb',
    '',
  ])
})
