import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { end, head, hold, json, readAll, reset, text, write } from '../../support/server-replies.ts'
import { pngBytes } from '../../support/image-bytes.ts'
import { writeFiles } from '../../support/temporary-folder.ts'
import {
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

test('the job is on record and on standard error before its first look-up is answered', async () => {
  const { promise: seen, resolve: go } = Promise.withResolvers<void>()
  const lookUp = [readAll, hold(seen), ...running.slice(1)]
  const { server, start, records, cwd } = await given(started, lookUp, finished(['/a.mp4']), film())
  const { clock, context, until, exitCode } = start(savingX)
  await until(() => clock.asked.includes(2000))
  await clock.advance(2000)
  await until(() => server.requests[1]?.complete === true)
  expect(context.stderr.text).toBe(
    `job started; resume with: modelgate wait ${operation}\njob: pending, after 0:00\n`,
  )
  expect(await records()).toMatchObject([
    {
      id: operation,
      kind: 'operation',
      command: 'video generate',
      model: 'veo',
      prompt: 'A boat',
      base_url: `${server.url}/`,
      is_sandbox: false,
      request: { instances: [{}], parameters: {} },
      idempotency_key: server.requests[0]!.headers['idempotency-key'],
      state: 'pending',
      files: [],
      output: { output: 'x.mp4', folder: null, force: false, cwd: cwd },
    },
  ])
  go()
  await until(() => clock.asked.includes(3000))
  await clock.advance(3000)
  expect(await exitCode).toBe(0)
  expect(await records()).toMatchObject([{ state: 'completed', files: [join(cwd, 'x.mp4')] }])
})

test.each([
  [400, 4],
  [401, 3],
  [402, 4],
  [404, 4],
])('a job that is refused with HTTP %i leaves no record', async (status, exit) => {
  const { code, out, records } = await runGiven(savingX, text('{"error":{"message":"No."}}', { status }))
  expect([code, out, await records()]).toEqual([exit, '', []])
})

test.each([
  ['reset', [readAll, reset], 7],
  ['half a reply', [readAll, write(head(200, { 'content-length': '100' }) + '{"na'), end], 7],
  ['a page of a proxy', text('<html>Bad gateway</html>', { status: 502 }), 7],
  ['a reply without an id', json({ ok: true }), 8],
  ['no JSON', text('accepted'), 8],
] as const)('a POST whose reply is lost (%s) leaves a record with its key', async (_, reply, exit) => {
  const { server, run, records, code, out, err } = await runGiven(savingX, reply)
  const key = server.requests[0]!.headers['idempotency-key']!
  expect([code, out]).toEqual([exit, ''])
  for (const told of [key, 'A job may exist.', 'may have been billed']) expect(err).toContain(told)
  const unknown = { id: null, state: 'unknown', idempotency_key: key }
  expect(await records()).toMatchObject([unknown])
  expect(await run(['wait', '--last'])).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringContaining(key),
  })
  expect(JSON.parse((await run(['jobs', '--json'])).out)).toMatchObject({ jobs: [unknown] })
})

test('neither a key nor pictures get on record', async () => {
  const { run, cwd, state, key } = await given(started)
  const picture = pngBytes({ width: 9, height: 9 })
  writeFiles(cwd, { 'a.png': picture })
  // The key in places where it has no business, as whoever pastes too much puts it; each run looks for it in all files.
  const words = ['--no-wait', '--no-validate', '--image', 'a.png', '--set', `note="${key}"`, `A boat ${key}`]
  expect((await run(['generate', '-m', 'veo', ...words])).code).toBe(0)
  const contents = readdirSync(join(state, 'calls'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
  // The month, the version, and the words of the job and of the call, whose arguments name the picture.
  expect(contents.length).toBe(4)
  const pictures = contents.filter((content) => content.includes(picture.toString('base64')))
  expect(pictures.filter((content) => !content.startsWith('{"arguments"'))).toEqual([])
})

test('a state folder that cannot be written is told, and the job is started all the same', async () => {
  const { run, home } = await given(started, finished(['/a.mp4']), film())
  writeFiles(home, { state: 'a file' })
  const { code, out, err } = await run(savingX, { env: { MODELGATE_STATE_DIR: join(home, 'state') } })
  expect([code, out]).toEqual([0, 'x.mp4\n'])
  expect(err).toContain('not on record')
  expect(err).toContain(`job started; resume with: modelgate wait -o x.mp4 ${operation}\n`)
})

test('--last is the newest, a beginning is enough, and an ambiguous one is refused with all ids', async () => {
  const jobs = ['video_aaa1', 'video_aab2', 'video_b'].map((id) => json({ id, status: 'queued' }))
  const { run } = await given(...jobs, jobs[2]!, jobs[1]!)
  for (const _ of jobs) await run([...remix, '--no-check', '--no-wait'])
  expect((await run(['status', '--last', '--json'])).out).toContain('"video_b"')
  expect((await run(['status', 'video_aab', '--json'])).out).toContain('"video_aab2"')
  const { code, err } = await run(['status', 'video_aa'])
  expect([code, err]).toEqual([2, expect.stringMatching(/video_aa(?:a1|b2)[^]*video_aa(?:a1|b2)/)])
  expect((await run(['status', '--last', 'video_b'])).code).toBe(2)
  expect((await run(['status'])).code).toBe(2)
  const unwritten = await run(['status', '--last', '-o', 'x.mp4'])
  expect([unwritten.code, unwritten.err]).toEqual([2, expect.stringContaining('-o needs --wait; ')])
})

test('an id of a video that has slashes is no name of an operation', async () => {
  const id = 'video_a+b/c=='
  const found = json({ id, object: 'video', status: 'completed' })
  const { server, run } = await given(found, found, video('queued'))
  expect((await run(['status', id])).code).toBe(0)
  expect((await run(['remix', '-m', 'video-model-remix', id, 'Make it night', '--no-wait'])).code).toBe(0)
  expect(server.requests.map(({ line }) => line)).toEqual([
    'GET /v1/videos/video_a%2Bb%2Fc%3D%3D HTTP/1.1',
    'GET /v1/videos/video_a%2Bb%2Fc%3D%3D HTTP/1.1',
    'POST /v1/videos/video_a%2Bb%2Fc%3D%3D/remix HTTP/1.1',
  ])
})

test('a job of another gateway is not asked for where nobody knows it', async () => {
  const { server, run } = await given(video('queued'))
  await run([...remix, '--no-check', '--no-wait'])
  const { code, err } = await run(['wait', '--last', '--base-url', 'http://127.0.0.1:9999'])
  expect([code, err]).toEqual([2, expect.stringContaining(videoId)])
  expect(err).toContain(`hint: Add --base-url ${server.url}/, or`)
  expect((await run(['wait', '--last', '--sandbox'])).err).toContain('leave out --sandbox')
})

test('a job on record knows its gateway, so that no address has to be configured again', async () => {
  const [running, done] = [video('in_progress'), video('completed')]
  const next = video('queued', { id: 'video_next' })
  const { run } = await given(video('queued'), running, running, done, done, next, done, film())
  await run([...remix, '--no-check', '--no-wait'])
  const unset = { env: { MODELGATE_BASE_URL: '' } }
  expect((await run(['status', '--last'], unset)).code).toBe(0)
  expect((await run(['jobs', '--refresh'], unset)).code).toBe(0)
  expect((await run(['jobs', '--refresh'], unset)).out).toContain('completed')
  const again = ['remix', '-m', 'sora-2', '--last', 'Day', '--no-wait']
  expect(await run(again, unset)).toMatchObject({ code: 0, out: 'video_next\n' })
  expect((await run(['wait', videoId, '-o', 'x.mp4'], unset)).out).toBe('x.mp4\n')
})

test.each([
  ['generate', generate, operation, `{"name":"${operation}","metadata":{"a"`],
  ['remix', [...remix, '--no-check'], videoId, `{"id":"${videoId}","object":"vi`],
])('%s warns of a reply that is cut inside, after the name of the job', async (_, words, id, content) => {
  const cut = [readAll, write(`${head(200, { 'content-length': '1000' })}${content}`), end]
  const warning = "The gateway's reply was cut short after the id of the job; the rest of it is missing."
  for (const mode of [[], ['--json'], ['--raw']]) {
    const { code, out, err } = await runGiven([...words, '--no-wait', ...mode], cut)
    expect([code, out]).toEqual([0, expect.stringContaining(id)])
    expect(err).toContain(`warning: ${warning}`)
    expect(mode[0] === '--json' ? JSON.parse(out).warnings : [warning]).toEqual([warning])
  }
})
