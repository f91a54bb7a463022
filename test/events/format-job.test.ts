import type { VideoState } from '../../src/contract/video-state.ts'
import { expect, test } from 'vitest'

import { gatewayState, formatState } from '../../src/events/format-job.ts'

test.each<[VideoState | 'unknown', string | null, string]>([
  ['in_progress', null, 'in_progress'],
  ['in_progress', 'in_progress', 'in_progress'],
  ['in_progress', ' In-Progress ', 'in_progress'],
  ['completed', 'STATE_COMPLETED', 'completed'],
  ['in_progress', 'rendering', 'in_progress (gateway says "rendering")'],
  ['in_progress', ' dreaming\n', 'in_progress (gateway says "dreaming")'],
  ['failed', 'CANCELLED', 'failed (gateway says "CANCELLED")'],
  ['in_progress', 'a "b"\nc\u001b[2J', String.raw`in_progress (gateway says "a \"b\"\nc\u001b[2J")`],
  ['unknown', null, 'unknown'],
  ['in_progress', 'constructor', 'in_progress (gateway says "constructor")'],
])('the state %s, which the gateway calls %j, is told as %s', (state, status, text) => {
  expect(formatState({ state, status })).toBe(text)
})

test('progress is shown beside the word of the gateway', () => {
  expect(formatState({ state: 'pending', progress: 0 })).toBe('pending (0%)')
  expect(formatState({ state: 'pending', progress: 7, status: 'queued' })).toBe(
    'pending (7%, gateway says "queued")',
  )
  expect(formatState({ state: 'failed', progress: 7 })).toBe('failed')
  expect(formatState({ state: 'completed', progress: 100 })).toBe('completed')
})

test('no word fills the screen', () => {
  expect(gatewayState('in_progress', 'x'.repeat(5000))!.length).toBe(60)
  expect(gatewayState('in_progress', '😀'.repeat(5000))!.isWellFormed()).toBe(true)
})
