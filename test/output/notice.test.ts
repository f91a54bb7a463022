import { expect, test } from 'vitest'
import { noticeOf } from '../../src/output/notices.ts'

const retry = { type: 'retry-wait', attempt: 1, attempts_left: 2, wait_s: 0.42 } as const

test.each([
  ['Busy (HTTP 429): wait.', 429, 'retry in 0.4 s (2 left): Busy (HTTP 429): wait.'],
  ['too many requests', 429, 'retry in 0.4 s (2 left): too many requests (HTTP 429)'],
  ['The connection was lost.', null, 'retry in 0.4 s (2 left): The connection was lost.'],
])('a retry after %j has the status once', (reason, http_status, text) => {
  expect(noticeOf({ ...retry, reason, http_status })).toBe(text)
})

test.each([
  [{ title: 'A', url: 'https://a.test' }, 'citation: A <https://a.test>'],
  [{ title: 'A', url: 'https://a.test', license: 'mit' }, 'citation: A <https://a.test> (licence: mit)'],
  [{ license: 'mit' }, 'citation: (licence: mit)'],
])('a citation: %j', (facts, text) => {
  const citation = { url: null, title: null, start: null, end: null, license: null, file_id: null, ...facts }
  expect(noticeOf({ type: 'citation-add', citation })).toBe(text)
})

test.each([
  ['web_search_call', 'web search tool call: rivers', 'web search tool call: rivers'],
  ['shell_call', 'shell_call: ls', 'shell_call: ls'],
  ['compaction', 'compaction', 'compaction'],
  ['fileData', 'gs://a/b', 'fileData: gs://a/b'],
])('an item of the kind %s says what it is once', (kind, summary, text) => {
  expect(noticeOf({ type: 'item-add', kind, summary, item: {} })).toBe(text)
})
