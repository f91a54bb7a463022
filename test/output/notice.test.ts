import { expect, test } from 'vitest'
import { noticeOf } from '../../src/output/notices.ts'

const retry = { type: 'retry-wait', attempt: 1, attempts_left: 2, wait_s: 0.42 } as const

test.each([
  ['Busy (HTTP 429): wait.', 429, 'retry in 0.4 s (2 left): Busy (HTTP 429): wait.'],
  ['too many requests', 429, 'retry in 0.4 s (2 left): too many requests (HTTP 429)'],
  ['The connection was lost.', null, 'retry in 0.4 s (2 left): The connection was lost.'],
])('a retry after %j has the status once', (reason, http_status, text) => {
  expect(noticeOf({ ...retry, reason, http_status })?.text).toBe(text)
})
