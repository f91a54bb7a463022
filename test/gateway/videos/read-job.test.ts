import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JobReport } from '../../../src/gateway/videos/read-job.ts'
import { hostileValue, prototypes } from '../hostile-values.ts'
import { now, operationName, problemOf, read, readOperation, readVideo, videoId } from './job-facts.ts'
import { runs } from '../../support/sample.ts'

/** As recorded from the public service. */
const completed = {
  id: videoId,
  object: 'video',
  created_at: 1760832369,
  status: 'completed',
  completed_at: 1760832448,
  error: null,
  expires_at: 1760836048,
  model: 'sora-2',
  progress: 100,
  remixed_from_video_id: null,
  seconds: '4',
  size: '720x1280',
}

describe('a Video', () => {
  test('that is completed, as recorded', () => {
    expect(readVideo(completed)).toEqual({
      id: videoId,
      kind: 'video',
      state: 'completed',
      status: 'completed',
      progress: 100,
      model: 'sora-2',
      createdAt: 1760832369,
      completedAt: 1760832448,
      expiresAt: 1760836048,
      failure: undefined,
      note: undefined,
      value: completed,
      requestId: 'req-1',
      nextLookUpMs: undefined,
    })
  })

  test.for<[string, readonly unknown[]]>([
    ['pending', ['queued', 'NOT_START', 'submitted']],
    [
      'in_progress',
      [' In Progress ', 'TASK_STATUS_RUNNING', 'unknown', 'halfway-there', '__proto__', 'constructor'],
    ],
    ['completed', ['Succeeded']],
    ['failed', ['FAILURE', 'cancelled']],
  ])('is %s with the status %j', ([state, words]) => {
    for (const status of words) expect(readVideo({ id: videoId, status })).toMatchObject({ state, status })
  })

  const url = 'https://cdn.test/a.mp4'
  const noError = { code: '', message: null }
  test.for<[string, readonly object[]]>([
    [
      'completed',
      [{ state: 'succeeded' }, { task_status: 'succeed' }, { url }, { done: true }, { done: 'True' }],
    ],
    [
      'failed',
      [{ status: '', state: 'failed' }, { error: { message: 'no' } }, { done: true, status: 'failed' }],
    ],
    ['in_progress', [{}, { status: null }, { status: 200, state: 'running' }, { status: 'processing', url }]],
    ['in_progress', [{ done: false }, { error: noError }, { status: 'running', error: noError }]],
  ])('is %s with %j', ([state, values]) => {
    for (const fields of values) expect(readVideo({ id: videoId, ...fields }).state).toBe(state)
  })

  // The first two as recorded from third parties.
  test.for<[object, string]>([
    [{ video_url: url }, 'in_progress'],
    [{ status: 'pending', progress: 3 }, 'pending'],
    [{ status: 'completed' }, 'completed'],
  ])('under HTTP 202 with %o is %s', ([value, state]) => {
    expect(readVideo(value, { status: 202 }).state).toBe(state)
  })

  test.for<[number | null, readonly unknown[]]>([
    [45, [45, 45.9, ' 45.9 % ']],
    [100, [101]],
    [0, [-1]],
    [null, ['', '%', 'half', null, [50], Number.NaN]],
  ])('shows the progress %j of %j', ([shown, told]) => {
    for (const progress of told) {
      expect(readVideo({ id: videoId, status: 'running', progress }).progress).toBe(shown)
    }
  })

  test.for<[number | null, readonly unknown[]]>([
    [1764347090, [1764347090, 1764347090922, '1764347090', 1764347090.5, '2025-11-28T16:24:50Z']],
    [null, [0, -5, 'soon', {}, Infinity]],
  ])('was created at second %j of %j', ([second, told]) => {
    for (const created_at of told) expect(readVideo({ id: videoId, created_at }).createdAt).toBe(second)
  })

  test.for<[object, string | null, string]>([
    [{ error: { code: 'moderation_blocked', message: 'No.', type: 'x' } }, 'moderation_blocked', 'No.'],
    [{ error: null }, null, 'no reason given'],
    [{}, null, 'no reason given'],
    [{ error: 'out of luck' }, null, 'out of luck'],
    [{ fail_reason: 'the source is gone' }, null, 'the source is gone'],
    [{ error: { code: 'server_error' } }, 'server_error', 'no reason given (server_error)'],
    [{ error: { code: 3, message: 'bad' } }, 'INVALID_ARGUMENT', 'bad'],
    [{ error: true, message: 'flat' }, null, 'flat'],
    [{ status: 'cancelled' }, null, 'no reason given (cancelled)'],
  ])('that failed with %o', ([fields, code, message]) => {
    expect(readVideo({ id: videoId, status: 'failed', ...fields })).toMatchObject({
      state: 'failed',
      failure: { code, message },
    })
  })

  test.for<[string, object]>([
    [
      'a status',
      { code: 'success', message: '', data: { task_id: videoId, status: 'SUCCESS', progress: '100%' } },
    ],
    ['an outer word', { status: 'ok', data: { id: videoId, status: 'succeeded', progress: 100 } }],
    [
      'a number',
      { code: 0, request_id: 'r', data: { task_id: videoId, task_status: 'succeed', progress: 100 } },
    ],
  ])('is read in what a relay has wrapped it: %s', ([, value]) => {
    expect(readVideo(value)).toMatchObject({ id: videoId, state: 'completed', progress: 100, value })
  })

  test.for<[object, object]>([
    // Data of its own is no wrapper.
    [{ id: videoId, status: 'running', data: { id: 'other', status: 'failed' } }, { state: 'in_progress' }],
    // A relay's own number of the task.
    [
      { task_id: 'task_77', status: 'IN_PROGRESS' },
      { id: videoId, state: 'in_progress' },
    ],
    [
      { id: 17, task_id: videoId, status: 'running' },
      { id: videoId, state: 'in_progress' },
    ],
  ])('is the one that was asked for: %j', ([value, expected]) => {
    expect(readVideo(value)).toMatchObject(expected)
  })

  test('of another id is refused', () => {
    expect(problemOf(() => readVideo({ id: 'video_other', status: 'running' }))).toBe('8 other_job')
    expect(problemOf(() => read({ id: 'x/y' }, { kind: 'video', id: 'z/y' }))).toBe('8 other_job')
    const encoded = { kind: 'video', id: 'video_a+b/c=' } as const
    expect(read({ id: 'video_a%2Bb%2Fc%3D', status: 'running' }, encoded).id).toBe('video_a+b/c=')
  })
})

describe('an operation', () => {
  const sampled = (...uris: string[]) => ({
    generateVideoResponse: { generatedSamples: uris.map((uri) => ({ video: { uri } })) },
  })
  const response = sampled('https://cdn.test/1')
  const isDone = { state: 'completed', failure: undefined }
  const failed = (code: string, message: unknown = expect.anything()) => ({
    state: 'failed',
    failure: { code, message },
  })
  const reasons = ['People.', 'Violence.', 'People.']

  test.for<[string, object, object]>([
    ['runs, as recorded', {}, { id: operationName, kind: 'operation', state: 'in_progress', status: null }],
    ['names its model', {}, { model: 'veo-3.1-lite', progress: null }],
    [
      'tells of itself',
      { metadata: { state: 'STATE_RUNNING', progressPercent: 40, createTime: '2026-01-01T00:00:00Z' } },
      { state: 'in_progress', progress: 40, createdAt: now / 1000 },
    ],
    ...[1, ' TRUE '].map((done): [string, object, object] => ['is done', { done, response }, isDone]),
    ...[0, '', 'false', null, undefined].map((done): [string, object, object] => [
      'is not done',
      { done },
      { state: 'in_progress' },
    ]),
    ['has its videos, without the word for it', { response }, isDone],
    ['has videos, and is not done', { done: false, response }, { state: 'in_progress' }],
    ['has nothing, and is not done', { response: {} }, { state: 'in_progress' }],
    [
      'failed',
      { done: true, error: { code: 3, message: 'Not allowed.', details: [] } },
      failed('INVALID_ARGUMENT', 'Not allowed.'),
    ],
    [
      'failed for reasons in a list',
      { done: true, error: [{ code: 8, message: 'Busy.' }] },
      failed('RESOURCE_EXHAUSTED', 'Busy.'),
    ],
    ['has no reasons in its list', { done: true, error: [], response: {} }, isDone],
    [
      'has an empty error',
      { done: true, error: { code: 0, message: '', details: [] }, response: {} },
      isDone,
    ],
    ['has the code for success', { done: true, error: { code: 0, message: 'OK' }, response }, isDone],
    ['has it without videos', { done: true, error: { code: 0, message: 'OK' } }, { state: 'failed' }],
    [
      'had everything filtered',
      {
        done: true,
        response: { generateVideoResponse: { raiMediaFilteredCount: 3, raiMediaFilteredReasons: reasons } },
      },
      failed('content_refused', expect.stringMatching(/: People\. Violence\.$/)),
    ],
    [
      'had some filtered',
      {
        done: true,
        response: {
          generateVideoResponse: {
            ...sampled('/1', '/2').generateVideoResponse,
            raiMediaFilteredCount: '1',
            raiMediaFilteredReasons: ['People.'],
          },
        },
      },
      { ...isDone, note: expect.stringMatching(/^1 of 3 videos was withheld .*: People\.$/) as string },
    ],
    [
      'had its only one filtered, without a reason',
      { done: true, response: { raiMediaFilteredCount: 1, videos: [] } },
      failed('content_refused', expect.stringContaining('does not say why')),
    ],
    ['made nothing', { done: true, response: { generateVideoResponse: {} } }, failed('nothing_generated')],
  ])('%s: %j', ([, value, expected]) => {
    expect(readOperation({ name: operationName, ...value })).toMatchObject(expected)
  })

  test.for<[string, boolean]>([
    [operationName, true],
    ['operations/umz7sqimep69', true],
    ['umz7sqimep69', true],
    [`video_${Buffer.from(operationName).toString('base64url')}`, true],
    [encodeURIComponent(operationName), true],
    ['models/veo-3.1-lite/operations/another', false],
    ['video_0123456789abcdef', false],
  ])('may come back as %s: %s', ([id, same]) => {
    expect(problemOf(() => readOperation({ id, status: 'running' }))).toBe(same ? 'none' : '8 other_job')
  })
})

describe('the reply to a request for a job', () => {
  const created = (value: unknown, kind: 'video' | 'operation' = 'operation') => read(value, { kind })

  const queued = { task_id: 'task_1', status: 'queued' }
  test.for<[string, object, string, ('video' | 'operation')?]>([
    ['an operation', { name: operationName }, operationName, 'operation'],
    ['a video in place of an operation', { id: 'task_1', object: 'video', name: 'a boat' }, 'task_1'],
    ['a task', { task_id: 'task_1', status: 'NOT_START' }, 'task_1'],
    ['a wrapped task', { code: 'success', data: queued }, 'task_1'],
    ['a wrapped id', { code: 'success', message: '', data: 'task_1' }, 'task_1'],
    ['a list of one task', { created: 1, data: [queued] }, 'task_1'],
    ['a task in a result', { code: 0, result: { task_id: 'task_1' } }, 'task_1'],
    ['a task beside the number of the request', { request_id: 'r-1', output: queued }, 'task_1'],
    ['a task in other letters', { taskId: 'task_1' }, 'task_1'],
    ['a number', { id: 17, status: 'queued' }, '17'],
    ['a request, as recorded', { request_id: 'c84748c1-5ec7' }, 'c84748c1-5ec7'],
  ])('names %s', ([, value, id, kind = 'video']) => {
    expect(created(value)).toMatchObject({ id, kind, state: 'pending' })
  })

  test('that has failed at once', () => {
    const failed = { id: 'v', status: 'failed', error: { message: 'no' } }
    expect(created(failed, 'video')).toMatchObject({ id: 'v', state: 'failed' })
  })

  test.for<[string, unknown, string]>([
    ['an error', { error: { code: 'content_policy', message: 'no' } }, '9 content_policy'],
    ['an error of a relay', { code: 'quota_exceeded', message: 'no', data: null }, '9 quota_exceeded'],
    ['an error in place of a name', { error: 'no' }, '9 error_in_reply'],
    ['an error beside a text', { code: 'quota_exceeded', message: 'no', data: 'x' }, '9 quota_exceeded'],
    ['a success of which nobody knows what', { code: 'success', message: 'ok' }, '8 reply_not_understood'],
    ['a list of several', { data: [{ id: 'a' }, { id: 'b' }] }, '8 reply_not_understood'],
    ['a state without an id', { status: 'queued' }, '8 reply_not_understood'],
    ['an empty id', { id: '', status: 'queued' }, '8 reply_not_understood'],
    ['nothing known', { hello: 'world' }, '8 reply_not_understood'],
    ['a text', 'ok', '8 reply_not_understood'],
    ['an array', [{ id: 'x' }], '8 reply_not_understood'],
  ])('that is %s', ([, value, problem]) => {
    expect(problemOf(() => created(value))).toBe(problem)
  })

  test.for(['..', '.', 'a\nb', '\u001b[31m', '\ud800'])('that names a video %j is refused', (id) => {
    expect(problemOf(() => created({ id, status: 'queued' }, 'video'))).toBe('8 reply_not_understood')
  })

  const paths = ['../../v1/videos', 'models/../files/x', 'models/%2e%2e/x', 'models//operations/x', '..']
  const addresses = [
    '//evil.test/x',
    'https://evil.test/operations/x',
    'evil.test/operations/x',
    '/models/m/x',
  ]
  const hosts = [
    'localhost:8080/operations/x',
    'user@host/operations/x',
    'operations/x?key=1',
    'operations/x#y',
  ]
  const ends = ['operations\\x', 'operations/x\n', 'operations/']
  test.for([...paths, ...addresses, ...hosts, ...ends])('that names an operation %j is refused', (name) => {
    expect(problemOf(() => created({ name }))).toBe('8 reply_not_understood')
  })
})

test.for<[Record<string, string>, number | undefined]>([
  [{ 'openai-poll-after-ms': '5000' }, 5_000],
  [{ 'retry-after-ms': '1500' }, 1_500],
  [{ 'retry-after': '7' }, 7_000],
  [{ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, undefined],
  [{ 'openai-poll-after-ms': '100', 'retry-after': '7' }, 100],
  [{ 'retry-after': '86400' }, 120_000],
  [{ 'openai-poll-after-ms': '999999999999' }, 120_000],
  [{ 'retry-after': '0' }, undefined],
  [{ 'openai-poll-after-ms': 'soon', 'retry-after': '2' }, 2_000],
])('%j asks to wait for %s ms', ([headers, nextLookUpMs]) => {
  expect(readVideo({ id: videoId, status: 'running' }, { headers }).nextLookUpMs).toBe(nextLookUpMs)
})

test('nothing that a gateway can send breaks the reading, or reaches a prototype', () => {
  const before = prototypes()
  const kinds = fc.constantFrom('video', 'operation')
  const ids = fc.constantFrom(undefined, videoId, operationName)
  fc.assert(
    fc.property(hostileValue, kinds, ids, fc.constantFrom(200, 202), (value, kind, id, status) => {
      let report: JobReport | undefined
      const problem = problemOf(() => (report = read(value, { kind, id }, { status })))
      expect(problem).toMatch(report === undefined ? /^[89] / : /^none$/)
      expect(report === undefined || report.value === value).toBe(true)
      expect(report?.state === 'failed').toBe(report?.failure !== undefined)
    }),
    runs(2_000),
  )
  expect(prototypes()).toEqual(before)
})
