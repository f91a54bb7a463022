/** What a fault rule can do to a reply. The descriptions are the documentation of the rule file. */
export const faultActions = {
  status: 'answers with `status` (503), `headers` and `body` instead of accepting the request',
  html: 'answers with an HTML page, as a proxy or a captive portal does (`status` 200)',
  'error-200': 'answers with an error object under status 200',
  empty: 'answers with no body at all (`status` 200)',
  reset: 'resets the connection `at` a point (before-headers)',
  close: 'closes the connection `at` a point without ending the message (mid-event)',
  cut: 'ends the message properly, but too early, `at` a point (mid-event)',
  stall: 'falls silent `at` a point (mid-event), for `ms` or for good',
  split: 'sends `size` (1) bytes at a time',
  drip: 'sends `size` (16) bytes every `ms` (20)',
  'content-type': 'sends `value` (text/plain) as the content type',
  headers: 'adds or replaces `headers`',
  malformed: 'breaks the JSON of one `event`',
  'drop-terminal': 'leaves out the event that completes the reply',
  'duplicate-terminal': 'sends the event that completes the reply twice',
  'late-event': 'sends one more event after the one that completes the reply',
  'comments-only': 'sends nothing but comments, one every `ms` (1000), for good',
  comments: 'sends a comment before every event',
  'error-event': 'breaks off with the error of the service before an `event`',
  'done-marker': 'adds `data: [DONE]` at the end',
  'line-endings': 'ends the lines with `value`: lf, crlf or cr',
  bom: 'begins with a byte order mark',
  'no-blank-line': 'leaves out the blank line after the last event',
  'keep-open': 'leaves the connection open after the whole reply',
  'ignore-stream': 'answers a stream request with one JSON document',
  'ignore-range': 'answers a request for a part of a file with the whole file',
  'not-http': 'answers with something that is not HTTP',
  'huge-headers': 'answers with 64 KiB of headers',
  'bad-chunk': 'sends a chunk whose size is not a number',
  'short-length': 'announces more bytes than it sends, then closes',
} as const

export type FaultAction = keyof typeof faultActions
export const faultActionNames = Object.keys(faultActions) as readonly FaultAction[]

/** Where a reset, close, cut or stall strikes; a number is a byte of the body. */
export const faultPoints = [
  'before-body',
  'before-headers',
  'after-headers',
  'mid-event',
  'mid-character',
  'before-terminal',
  'after-terminal',
] as const
export type FaultPoint = (typeof faultPoints)[number] | number
