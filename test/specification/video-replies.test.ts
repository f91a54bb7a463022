import { describe, expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { call, runningSandbox } from '../support/running-sandbox.ts'
import { json } from '../support/server-replies.ts'
import { jobMs, makeVideo, operate, remix } from '../support/video-calls.ts'
import { documentOf, isInteger } from './both-sides.ts'

// "Resources and their fields" and "States and transitions" of the specification, row by row: what the sandbox
// answers, and what the program makes of an answer that has it.

describe('Video', () => {
  const whole = {
    id: 'video_1',
    object: 'video',
    created_at: 1_700_000_000,
    completed_at: 1_700_000_060,
    model: 'video-model-remix',
    status: 'completed',
    progress: 100,
    expires_at: 1_700_003_600,
    seconds: '4',
    size: '1280x720',
    remixed_from_video_id: 'video_0',
  }

  test('a completed remix that is looked up', async () => {
    const clock = fakeClock()
    const sandbox = await runningSandbox({ clock })
    const first = await makeVideo(sandbox, { model: 'video-model-remix', size: '1280x720' })
    await clock.advance(jobMs)
    const begun = await remix(sandbox, first.json.id, { model: 'video-model-remix' })
    await clock.advance(jobMs)
    expect((await call(sandbox, `/v1/videos/${begun.json.id}`)).json).toMatchObject({
      id: begun.json.id,
      object: 'video',
      created_at: isInteger,
      completed_at: isInteger,
      model: 'video-model-remix',
      status: 'completed',
      progress: 100,
      expires_at: isInteger,
      seconds: '1',
      size: '1280x720',
      remixed_from_video_id: first.json.id,
    })
    const { code, document } = await documentOf(['video', 'status', 'video_1'], json(whole))
    expect([code, document.video]).toEqual([0, whole])
  })

  test('error: code, message and type, all strings', async () => {
    const clock = fakeClock()
    const sandbox = await runningSandbox({ clock })
    const { json: begun } = await makeVideo(sandbox, { prompt: 'sandbox:failure' })
    await clock.advance(jobMs)
    const { error, status } = (await call(sandbox, `/v1/videos/${begun.id}`)).json
    const strings = { code: expect.any(String), message: expect.any(String), type: expect.any(String) }
    expect([status, error]).toEqual(['failed', strings])
    const failed = { code: 'moderation', message: 'not allowed', type: 'user_error' }
    const reply = json({ ...whole, status: 'failed', error: failed })
    const { code, document } = await documentOf(['video', 'status', 'video_1', '--exit-status'], reply)
    expect([code, document.video?.error ?? document.document?.video?.error]).toEqual([9, failed])
  })

  test.each(Object.entries({ pending: 11, in_progress: 11, completed: 0 }))(
    'state %s',
    async (status, code) => {
      const shown = await documentOf(
        ['video', 'status', 'video_1', '--exit-status'],
        json({ ...whole, status }),
      )
      expect(shown.code).toBe(code)
    },
  )

  test.each<[title: string, more: object, state: string]>([
    ['only its id', { status: undefined, progress: undefined, seconds: undefined }, 'in_progress'],
    ['a status that is not known', { status: 'of_2030' }, 'in_progress'],
    ['error, that is no error yet', { error: null }, 'in_progress'],
    ['seconds of any value', { seconds: '11.5' }, 'in_progress'],
  ])('%s', async (_, more, state) => {
    const running = { id: 'video_1', object: 'video', status: 'in_progress', progress: 50, ...more }
    const { code, document } = await documentOf(['video', 'status', 'video_1'], json(running))
    expect([code, document.state]).toEqual([0, state])
    expect(document.video).toEqual(JSON.parse(JSON.stringify(running)))
  })
})

test('Video generation operation: a name like a path', async () => {
  const { json: operation } = await operate(await runningSandbox())
  expect(operation.name).toMatch(/^models\/[^/]+\/operations\/[^/]+$/)
  const { code, document } = await documentOf(
    ['video', 'generate', '-m', 'v', '--no-wait', 'a boat'],
    json({ name: 'models/v/operations/abc' }),
  )
  expect([code, document.operation.name]).toEqual([0, 'models/v/operations/abc'])
})
