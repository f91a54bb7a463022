import { expect, test } from 'vitest'
import { Interrupted } from '../../../src/errors.ts'
import { head, json, readAll, stall, text, write, type ServerReply } from '../../support/server-replies.ts'
import {
  clip,
  failedOperation,
  film,
  finished,
  generate,
  given,
  operation,
  remix,
  runGiven,
  running,
  savingX,
  started,
  video,
  videoId,
} from './video-replies.ts'

const sourceIs = (status: string) => json({ id: 'video_source', object: 'video', status, progress: 37 })
const missing = text('{"error":{"message":"Nothing here."}}', { status: 404 })
const failed = video('failed', { error: { code: 'policy', message: 'Not this.' } })
const begun = (bytes: number) => [
  readAll,
  write(head(200, { 'content-length': String(clip.length) })),
  write(clip.subarray(0, bytes)),
  stall,
]

test('off a terminal the id is the result, and nothing is waited for', async () => {
  expect(await runGiven(generate, started)).toMatchObject({
    code: 0,
    out: `${operation}\n`,
    err: `job started; resume with: modelgate wait ${operation}\n`,
  })
})

test('on a terminal the video is waited for and saved', async () => {
  const { run, read } = await given(started, finished(['/a.mp4']), film())
  const stdin = {
    kind: 'terminal' as const,
    consumed: 'none' as const,
    async *read() {},
    release() {},
    stream: undefined,
  }
  expect((await run([...generate, '-o', 'x.mp4'], { terminal: true, stdin })).code).toBe(0)
  expect(read('x.mp4').equals(clip)).toBe(true)
})

test('a job that has failed at once has failed, also where nothing is waited for', async () => {
  const { code, out, err, records } = await runGiven([...remix, '--no-check', '--no-wait'], failed)
  expect([code, out]).toEqual([9, ''])
  expect(err).toContain(`The job ${videoId} failed: Not this. (policy)`)
  expect(await records()).toMatchObject([{ state: 'failed' }])
})

test.each([
  ['queued', 'is pending (37%, gateway says "queued")'],
  ['in_progress', 'is in_progress (37%)'],
  ['failed', 'is failed;'],
  ['warming', 'is in_progress (37%, gateway says "warming")'],
])('a remix of a source that is %s is refused before the POST', async (status, says) => {
  const { code, out, err, records, server } = await runGiven([...remix, '--wait'], sourceIs(status))
  expect([code, out, await records()]).toEqual([2, '', []])
  expect(err).toContain(`The video video_source ${says}`)
  expect(err).toContain('--no-check')
  expect(server.requests.map(({ line }) => line)).toEqual(['GET /v1/videos/video_source HTTP/1.1'])
})

test('a remix of a finished source is sent after one look-up, with --no-check without', async () => {
  const { server, run } = await given(sourceIs('completed'), video('queued'), video('queued'))
  expect(await run([...remix, '--no-wait'])).toMatchObject({ code: 0, out: `${videoId}\n` })
  expect((await run([...remix, '--no-wait', '--no-check'])).code).toBe(0)
  expect(server.requests.map(({ line }) => line)).toEqual([
    'GET /v1/videos/video_source HTTP/1.1',
    'POST /v1/videos/video_source/remix HTTP/1.1',
    'POST /v1/videos/video_source/remix HTTP/1.1',
  ])
  const body = { model: 'video-model-remix', prompt: 'Make it night' }
  expect(JSON.parse(server.requests[1]!.body.toString())).toEqual(body)
})

test('a remix of --last is one of the job started last, also of an operation', async () => {
  const { server, run } = await given(started, finished(['/a.mp4']), video('queued'))
  await run([...generate, '--no-wait'])
  const words = ['remix', '-m', 'video-model-remix', '--last', 'Make it night', '--no-wait']
  expect((await run(words)).code).toBe(0)
  expect(server.requests.at(-1)!.line).toBe('POST /v1/videos/op-0123/remix HTTP/1.1')
})

test.each([
  ['a video that runs', videoId, video('in_progress', { progress: 40 }), 11],
  ['a video that is done', videoId, video('completed'), 0],
  ['a video that failed', videoId, failed, 9],
  ['an operation that runs', operation, running, 11],
  ['an operation that is done', operation, finished(['/a.mp4']), 0],
  ['an operation that failed', operation, failedOperation, 9],
])('status of %s: exit 0, and with --exit-status the state', async (_, id, reply, mapped) => {
  const { run, files } = await given(reply, reply)
  expect((await run(['status', id, '--json'])).code).toBe(0)
  expect((await run(['status', id, '--exit-status'])).code).toBe(mapped)
  expect(files()).toEqual([])
})

test('status --json holds every field untouched, and --raw is the object of the gateway', async () => {
  const value = {
    id: videoId,
    object: 'video',
    status: 'Processing',
    progress: '45%',
    own: { deep: [1.5, null, 'é', { '': '' }], __proto__x: true },
    big: 1e21,
  }
  const { run } = await given(json(value), json(value))
  const { video: found, ...document } = JSON.parse((await run(['status', videoId, '--json'])).out)
  expect(document).toMatchObject({ kind: 'video', state: 'in_progress', progress: 45, operation: null })
  expect(found).toEqual(value)
  expect(JSON.parse((await run(['status', videoId, '--raw'])).out)).toEqual(value)
})

test('--timeout ends the wait with 11 and a command that works', async () => {
  const { run, paste } = await given(started, running, finished(['/a.mp4']), film())
  // After the look-up at 2 s the next would be at 5 s.
  const { code, err } = await run([...savingX, '--timeout', '4'])
  expect(code).toBe(11)
  expect(err).toContain('The job is still')
  expect(err).toContain(`hint: To continue waiting: modelgate wait ${operation}\n`)
  expect(await paste(err.slice(err.indexOf('hint')))).toMatchObject({ code: 0, out: 'x.mp4\n' })
})

/** Starts a wait whose first look-up is after two seconds. */
async function waiting(...replies: readonly ServerReply[]) {
  const workspace = await given(...replies)
  const program = workspace.start([...savingX, '--timeout', '20'])
  await program.until(() => program.clock.asked.includes(2000))
  return { ...workspace, program, said: () => program.context.stderr.text }
}

test('--timeout bounds the download after the wait, too', async () => {
  const replies = [started, finished(['/a.mp4']), begun(100), finished(['/a.mp4']), film()]
  const { server, program, said, paste } = await waiting(...replies)
  await program.clock.advance(2000)
  await program.until(() => server.requests.length === 3 && server.isEndless)
  await program.clock.advance(18_000)
  expect(await program.exitCode).toBe(11)
  expect(said()).toContain('The time limit for the whole command was reached (--timeout).')
  expect(await paste(said().slice(said().indexOf('hint')))).toMatchObject({ code: 0, out: 'x.mp4\n' })
})

test.each([
  ['interrupt', 130],
  ['terminate', 143],
  ['hangup', 129],
] as const)('%s while waiting', async (signal, exit) => {
  const { program, said, files, records, paste } = await waiting(started, finished(['/a.mp4']), film())
  program.context.abort(new Interrupted(signal))
  expect([await program.exitCode, program.context.stdout.text, files()]).toEqual([exit, '', []])
  expect(said()).toContain(`To continue waiting: modelgate wait ${operation}\n`)
  expect(await records()).toMatchObject([{ id: operation, state: 'pending', files: [] }])
  expect(await paste(said())).toMatchObject({ code: 0, out: 'x.mp4\n' })
})

test('Ctrl-C while the video comes leaves nothing half, and a command that fetches it', async () => {
  const replies = [started, finished(['/a.mp4']), begun(3000), finished(['/a.mp4']), film()]
  const { program, said, files, records, paste } = await waiting(...replies)
  await program.clock.advance(2000)
  await program.until(() => files().some((name) => name.startsWith('.x.mp4')))
  program.context.abort(new Interrupted('interrupt'))
  expect([await program.exitCode, program.context.stdout.text, files()]).toEqual([130, '', []])
  expect(said()).toContain('The request was billed.')
  expect(await records()).toMatchObject([{ id: operation, state: 'completed', files: [] }])
  expect(await paste(said().slice(said().indexOf('hint')))).toMatchObject({ code: 0, out: 'x.mp4\n' })
})

test('Ctrl-C while the POST is under way says that a job may exist, and keeps its key', async () => {
  const { server, start, records } = await given([readAll, stall])
  const { until, context, exitCode } = start([...generate, '--wait'])
  await until(() => server.requests[0]?.complete === true)
  context.abort(new Interrupted('interrupt'))
  expect(await exitCode).toBe(130)
  const key = server.requests[0]!.headers['idempotency-key']!
  expect(context.stderr.text).toContain(key)
  expect(context.stderr.text).toContain('may have been billed')
  expect(await records()).toMatchObject([{ id: null, idempotency_key: key, state: 'unknown' }])
})

test('the time left is told from the pace since the job began to run, not from its time in the queue', async () => {
  const at = (progress: number) => video('in_progress', { progress })
  const queue = Array.from({ length: 6 }, () => video('queued'))
  const words = [...remix, '--no-check', '--wait', '--jsonl']
  const { code, out } = await runGiven(words, ...queue, at(0), at(50), video('completed'), film())
  expect(code).toBe(0)
  const events = out
    .split('\n')
    .flatMap((line) => (line.includes('"job-progress"') ? [JSON.parse(line)] : []))
  const [began, half] = events.slice(6)
  expect(began.elapsed_s).toBeGreaterThan(20)
  expect(half.remaining_s).toBe(Math.round(half.elapsed_s - began.elapsed_s))
  expect(events.slice(0, 7).map(({ remaining_s }) => remaining_s)).toEqual(Array(7).fill(null))
})

test.each([
  [['generate', '-m', 'models/../x', 'A boat'], '-m "models/../x" cannot be the model.'],
  [['status', 'models/../operations/1'], '".." cannot be a part'],
  [['wait', 'models/../x'], '".." cannot be a part'],
  [['remix', '-m', 'sora-2', '--no-check', 'models/../x', 'Night'], '".." cannot be a part'],
])('what leads elsewhere is refused, and nothing is sent: %j', async (words, says) => {
  const { code, out, err, records, server } = await runGiven(words)
  expect([code, out, server.requests, await records()]).toEqual([2, '', [], []])
  expect(err).toContain(says)
  expect(err).not.toContain('billed')
})

test('of a job that nobody knows it is not said that it was billed', async () => {
  const { code, err } = await runGiven(['wait', 'video_none'], missing)
  expect([code, err]).toEqual([4, expect.stringContaining('knows no video video_none')])
  expect(err).not.toContain('billed')
})

test.each([
  ['status', 0],
  ['wait', 9],
])(
  'a job that another call started a moment ago may not be known everywhere yet: %s',
  async (command, exit) => {
    const { run } = await given(video('queued'), missing, missing, missing, failed)
    await run([...remix, '--no-check', '--no-wait'])
    expect((await run([command, '--last'])).code).toBe(exit)
  },
)
