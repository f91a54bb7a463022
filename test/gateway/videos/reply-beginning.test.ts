import { expect, test } from 'vitest'
import { jobInBeginning } from '../../../src/gateway/videos/start-job.ts'

const replies: readonly [
  what: string,
  kind: 'video' | 'operation',
  reply: string,
  id: string,
  until: string,
][] = [
  [
    'an operation',
    'operation',
    '{"name":"models/veo/operations/op-1"}',
    'models/veo/operations/op-1',
    'op-1"',
  ],
  [
    'an operation in lines',
    'operation',
    '{\n  "done": false,\n  "name": "models/veo/operations/op-1",\n  "metadata": {"@type": "x"}\n}',
    'models/veo/operations/op-1',
    'op-1"',
  ],
  [
    'a video whose id is not first',
    'video',
    '{"object":"video","status":"queued","tags":["a","}"],"id":"video_1","progress":0}',
    'video_1',
    'video_1"',
  ],
  ['a number', 'video', '{"task_id": 12345678901234567890, "code": 0}', '12345678901234567890', '7890,'],
  [
    'what a relay wraps',
    'video',
    '{"code":"success","data":{"task_id":"t\\"1","status":"x"}}',
    't"1',
    't\\"1"',
  ],
  ['a stream', 'video', 'data: {"id":"video_1","status":"queued"}\n\n', 'video_1', 'video_1"'],
]

test.each(replies)(
  '%s: the id is known as soon as it has come, and never another',
  (_, kind, reply, id, until) => {
    const whole = reply.indexOf(until) + until.length
    for (let length = 0; length <= reply.length; length++) {
      const found = jobInBeginning(reply.slice(0, length), kind)
      expect([length, found?.id]).toEqual([length, length < whole ? undefined : id])
    }
  },
)

test.each([
  ['nothing', ''],
  ['no JSON', '<html><body>Bad gateway'],
  ['an error', '{"error":{"message":"No.","code":400}}'],
  ['an id of the request alone', '{"request_id":"req_1"'],
  ['an id inside something else', '{"prompt":{"id":"x"},"status":"queued"'],
  ['no path', '{"name":"https://elsewhere.example/op"'],
])('%s names no job', (_, text) => {
  expect(jobInBeginning(text, 'operation')).toBeUndefined()
})
