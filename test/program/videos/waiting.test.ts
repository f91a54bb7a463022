import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { Interrupted } from '../../../src/errors.ts'
import { localServer } from '../../support/local-server.ts'
import { head, json, readAll, stall, text, write } from '../../support/server-replies.ts'
import {
  clip,
  failedOperation,
  film,
  finished,
  generate,
  operation,
  remix,
  running,
  started,
  video,
  videoId,
  given,
  runGiven,
  savingX,
} from './video-replies.ts'
import { expectNoPart, videoWorkspace } from './video-run.ts'

const sourceIs = (status: string, more = {}) =>
  json({ id: 'video_source', object: 'video', status, progress: 37, ...more })

test('off a terminal the id is the result, and nothing is waited for', async () => {
  const { code, out, err } = await runGiven(generate, started)
  expect([code, out]).toEqual([0, `${operation}\n`])
  expect(err).toBe(`job started; resume with: modelgate wait ${operation}\n`)
})

test('on a terminal the video is waited for and saved', async () => {
  const { start, read } = await given(started, finished(['/a.mp4']), film())
  const program = start([...generate, '-o', 'x.mp4'], { terminal: true, stdin: terminalInput })
  await program.until(() => program.clock.asked.includes(2000))
  await program.clock.advance(2000)
  expect(await program.exitCode).toBe(0)
  expect(read('x.mp4').equals(clip)).toBe(true)
})

test('a job that has failed at once has failed, also where nothing is waited for', async () => {
  const replies = [video('failed', { error: { code: 'policy', message: 'Not this.' } })]
  const workspace = videoWorkspace(await localServer(replies))
  const { code, out, err } = await workspace.run([...remix, '--no-check', '--no-wait'])
  expect([code, out]).toEqual([9, ''])
  expect(err).toContain(`The job ${videoId} failed: Not this. (policy)`)
  expect(JSON.parse((await workspace.run(['jobs', '--json'])).out)).toMatchObject({
    jobs: [{ state: 'failed' }],
  })
})

const terminalInput = {
  kind: 'terminal' as const,
  consumed: 'none' as const,
  async *read() {},
  release() {},
  stream: undefined,
}

test.each([
  ['pending', 'queued', 'is pending (37%, gateway says "queued")'],
  ['running', 'in_progress', 'is in_progress (37%)'],
  ['failed', 'failed', 'is failed;'],
  ['of an unknown state', 'warming', 'is in_progress (37%, gateway says "warming")'],
])('a remix of a source that is %s is refused before the POST', async (_, status, says) => {
  const { code, out, err, records, server } = await runGiven([...remix, '--wait'], sourceIs(status))
  expect([code, out, await records()]).toEqual([2, '', []])
  expect(err).toContain(`The video video_source ${says}`)
  expect(err).toContain('--no-check')
  expect(server.requests.map(({ line }) => line)).toEqual(['GET /v1/videos/video_source HTTP/1.1'])
})

test('a remix of a finished source is sent after one look-up, with --no-check without', async () => {
  const { server, run } = await given(sourceIs('completed'), video('queued'), video('queued'))
  expect(await run([...remix, '--no-wait'])).toMatchObject({ code: 0, out: `${videoId}\n` })
  expect(await run([...remix, '--no-wait', '--no-check'])).toMatchObject({ code: 0 })
  expect(server.requests.map(({ line }) => line.split(' ', 2).join(' '))).toEqual([
    'GET /v1/videos/video_source',
    'POST /v1/videos/video_source/remix',
    'POST /v1/videos/video_source/remix',
  ])
  expect(JSON.parse(server.requests[1]!.body.toString())).toEqual({
    model: 'video-model-remix',
    prompt: 'Make it night',
  })
})

test('a remix of --last is one of the job started last, also of an operation', async () => {
  const id = operation.split('/').at(-1)
  const { server, run } = await given(started, finished(['/a.mp4']), video('queued'))
  await run([...generate, '--no-wait'])
  const { code } = await run(['remix', '-m', 'video-model-remix', '--last', 'Make it night', '--no-wait'])
  expect(code).toBe(0)
  expect(server.requests.at(-1)!.line).toBe(`POST /v1/videos/${id}/remix HTTP/1.1`)
})

test.each([
  ['a video that runs', videoId, video('in_progress', { progress: 40 }), 0, 11],
  ['a video that is done', videoId, video('completed'), 0, 0],
  ['a video that failed', videoId, video('failed', { error: { code: 'x', message: 'No.' } }), 0, 9],
  ['an operation that runs', operation, running, 0, 11],
  ['an operation that is done', operation, finished(['/a.mp4']), 0, 0],
  ['an operation that failed', operation, failedOperation, 0, 9],
])('status of %s: exit 0, and with --exit-status the state', async (_, id, reply, plain, mapped) => {
  const { run, files } = await given(reply, reply, reply)
  expect((await run(['status', id])).code).toBe(plain)
  expect((await run(['status', id, '--exit-status'])).code).toBe(mapped)
  expect((await run(['status', id, '--json'])).code).toBe(plain)
  expect(files()).toEqual([])
})

test('status --json holds every field untouched, and --raw is the object of the gateway', async () => {
  const value = {
    id: videoId,
    object: 'video',
    status: 'Processing',
    progress: '45%',
    created_at: 1_764_347_090_922,
    expires_at: null,
    own: { deep: [1.5, null, 'é', { '': '' }], __proto__x: true },
    big: 1e21,
    error: null,
  }
  const { run } = await given(json(value), json(value))
  const { out } = await run(['status', videoId, '--json'])
  expect(JSON.parse(out)).toMatchObject({
    command: 'video status',
    kind: 'video',
    state: 'in_progress',
    progress: 45,
    operation: null,
  })
  expect(JSON.parse(out).video).toEqual(value)
  expect(JSON.parse((await run(['status', videoId, '--raw'])).out)).toEqual(value)
})

test('status tells what the gateway calls a state, when it is another word', async () => {
  const value = { id: videoId, object: 'video', state: 'dreaming \u001b[2J', progress: 45 }
  const { run } = await given(json(value), json(value), json(value), json(value))
  const says = String.raw`(gateway says "dreaming \u001b[2J")`
  for (const terminal of [true, false]) {
    const { code, out } = await run(['status', videoId], { terminal, env: { NO_COLOR: '1' } })
    expect([code, out]).toEqual([0, expect.stringContaining(`state     in_progress ${says}\n`)])
  }
  const { err } = await run(['status', videoId, '--exit-status'])
  expect(err).toContain(String.raw`The job is in_progress (45%, gateway says "dreaming \u001b[2J").`)
  const { out } = await run(['status', videoId, '--json'])
  expect(JSON.parse(out)).toMatchObject({ state: 'in_progress', status: 'dreaming \u001b[2J' })
})

test('--timeout ends the wait with 11 and a command that works', async () => {
  const { server, start, paste, read } = await given(started, running, finished(['/a.mp4']), film())
  const program = start([...generate, '--wait', '--timeout', '4', '-o', 'x.mp4'])
  await program.until(() => program.clock.asked.includes(2000))
  await program.clock.advance(2000)
  // After the look-up at 2 s the next would be at 5 s.
  await program.until(
    () => server.requests.length === 2 && program.context.stderr.text.includes('in_progress'),
  )
  await program.clock.advance(2000)
  expect(await program.exitCode).toBe(11)
  const err = program.context.stderr.text
  expect(err).toContain('The job is still')
  expect(err).toContain(`hint: To continue waiting: modelgate wait ${operation}\n`)
  const { code, out } = await paste(err.slice(err.indexOf('hint')))
  expect([code, out]).toEqual([0, 'x.mp4\n'])
  expect(read('x.mp4').equals(clip)).toBe(true)
})

test('--timeout bounds the download after the wait, too', async () => {
  const half = write(clip.subarray(0, 100))
  const dripping = [readAll, write(head(200, { 'content-length': String(clip.length) })), half, stall]
  const { server, ...workspace } = await given(
    started,
    finished(['/a.mp4']),
    dripping,
    finished(['/a.mp4']),
    film(),
  )
  const program = workspace.start([...generate, '--wait', '--timeout', '20', '-o', 'x.mp4'])
  await program.until(() => program.clock.asked.includes(2000))
  await program.clock.advance(2000)
  await program.until(() => server.requests.length === 3 && server.isEndless)
  await program.clock.advance(18_000)
  expect(await program.exitCode).toBe(11)
  const err = program.context.stderr.text
  expect(err).toContain('The time limit for the whole command was reached (--timeout).')
  expectNoPart(workspace)
  const { code, out } = await workspace.paste(err.slice(err.indexOf('hint')))
  expect([code, out]).toEqual([0, 'x.mp4\n'])
})

test.each([
  ['interrupt', 130],
  ['terminate', 143],
  ['hangup', 129],
] as const)('%s while waiting', async (signal, exit) => {
  const { start, files, records, paste } = await given(started, finished(['/a.mp4']), film())
  const program = start(savingX)
  await program.until(() => program.clock.asked.includes(2000))
  program.context.abort(new Interrupted(signal))
  expect(await program.exitCode).toBe(exit)
  const { out, err } = { out: program.context.stdout.text, err: program.context.stderr.text }
  expect([out, files()]).toEqual(['', []])
  expect(err).toContain(`To continue waiting: modelgate wait ${operation}\n`)
  expect(await records()).toMatchObject([{ id: operation, state: 'pending', files: [] }])
  expect(await paste(err)).toMatchObject({ code: 0, out: 'x.mp4\n' })
})

test('Ctrl-C while the video comes leaves nothing half, and a command that fetches it', async () => {
  const { start, cwd, files, records, paste } = await given(
    started,
    finished(['/a.mp4']),
    [
      readAll,
      write(head(200, { 'content-length': String(clip.length) })),
      write(clip.subarray(0, 3000)),
      stall,
    ],
    finished(['/a.mp4']),
    film(),
  )
  const program = start(savingX)
  await program.until(() => program.clock.asked.includes(2000))
  await program.clock.advance(2000)
  await program.until(() => readdirSync(cwd).some((name) => name.startsWith('.x.mp4')))
  program.context.abort(new Interrupted('interrupt'))
  expect(await program.exitCode).toBe(130)
  const err = program.context.stderr.text
  expect([program.context.stdout.text, files()]).toEqual(['', []])
  expect(err).toContain('The request was billed.')
  expect(await records()).toMatchObject([{ id: operation, state: 'completed', files: [] }])
  expect(await paste(err.slice(err.indexOf('hint')))).toMatchObject({ code: 0, out: 'x.mp4\n' })
})

test('Ctrl-C while the POST is under way says that a job may exist, and keeps its key', async () => {
  const { server, start, records } = await given([readAll, stall])
  const program = start([...generate, '--wait'])
  await program.until(() => server.requests[0]?.complete === true)
  program.context.abort(new Interrupted('interrupt'))
  expect(await program.exitCode).toBe(130)
  const key = server.requests[0]!.headers['idempotency-key']!
  expect(program.context.stderr.text).toContain(key)
  expect(program.context.stderr.text).toContain('may have been billed')
  expect(await records()).toMatchObject([{ id: null, idempotency_key: key, state: 'unknown' }])
})

test('the time left is told from the pace since the job began to run, not from its time in the queue', async () => {
  const at = (progress: number) => video('in_progress', { progress })
  const queue = Array.from({ length: 6 }, () => video('queued'))
  const { run } = await given(...queue, at(0), at(50), video('completed'), film())
  const words = 'remix -m video-model-remix video_source Night --no-check --wait --jsonl'.split(' ')
  const { code, out } = await run(words)
  expect(code).toBe(0)
  const events = out
    .split('\n')
    .flatMap((line) => (line.includes('"job-progress"') ? [JSON.parse(line)] : []))
  const [began, half] = events.slice(6)
  expect(began.elapsed_s).toBeGreaterThan(20)
  expect(half.remaining_s).toBe(Math.round(half.elapsed_s - began.elapsed_s))
  expect(events.slice(0, 7).map(({ remaining_s }) => remaining_s)).toEqual(Array(7).fill(null))
})

test.each<[string, readonly string[], string]>([
  ['a model', ['generate', '-m', 'models/../x', 'A boat'], '-m "models/../x" cannot be the model.'],
  ['the name of an operation', ['status', 'models/../operations/1'], '".." cannot be a part'],
  [
    'the source of a remix',
    ['remix', '-m', 'video-model-remix', '--no-check', 'models/../x', 'Night'],
    '".." cannot be a part',
  ],
])('%s that leads elsewhere is refused, and nothing is sent', async (_, words, says) => {
  const { code, out, err, records, server } = await runGiven(words)
  expect([code, out, server.requests, await records()]).toEqual([2, '', [], []])
  expect(err).toContain(says)
})

test('of a job that nobody knows it is not said that it was billed', async () => {
  const missing = text('{"error":{"message":"Nothing here."}}', { status: 404 })
  const { run } = await given(missing)
  const unknown = await run(['wait', 'video_none'])
  expect([unknown.code, unknown.err]).toEqual([4, expect.stringContaining('knows no video video_none')])
  const wrong = await run(['wait', 'models/../x'])
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('".." cannot be a part')])
  expect(unknown.err + wrong.err).not.toContain('billed')
})

test.each([
  ['status', 0],
  ['wait', 9],
])(
  'a job that another call started a moment ago may not be known everywhere yet: %s',
  async (command, exit) => {
    const missing = text('{"error":{"message":"Nothing here."}}', { status: 404 })
    const failed = video('failed', { error: { code: 'policy', message: 'Not this.' } })
    const { run } = await given(video('queued'), missing, missing, missing, failed)
    await run([...remix, '--no-check', '--no-wait'])
    expect((await run([command, '--last'])).code).toBe(exit)
  },
)
