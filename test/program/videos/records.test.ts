import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { end, head, hold, json, readAll, reset, text, write } from '../../support/server-replies.ts'
import { pngBytes } from '../../support/image-bytes.ts'
import { writeFiles } from '../../support/temporary-folder.ts'
import {
  clip,
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
  savingX,
} from './video-replies.ts'
import { expectNoPart } from './video-run.ts'

test('the job is on record and on standard error before its first look-up is answered', async () => {
  const { promise: seen, resolve: go } = Promise.withResolvers<void>()
  const { server, start, records, cwd, read } = await given(
    started,
    [readAll, hold(seen), ...running.slice(1)],
    finished(['/a.mp4']),
    film(),
  )
  const program = start(savingX)
  await program.until(() => program.clock.asked.includes(2000))
  await program.clock.advance(2000)
  await program.until(() => server.requests[1]?.complete === true)
  expect(program.context.stderr.text).toBe(
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
  await program.until(() => program.clock.asked.includes(3000))
  await program.clock.advance(3000)
  expect(await program.exitCode).toBe(0)
  expect(await records()).toMatchObject([{ state: 'completed', files: [join(cwd, 'x.mp4')] }])
  expect(read('x.mp4').equals(clip)).toBe(true)
})

test.each<[string, Parameters<typeof text>[1], number]>([
  ['an invalid request', { status: 400 }, 4],
  ['a refused key', { status: 401 }, 3],
  ['a quota', { status: 402 }, 4],
  ['no such model', { status: 404 }, 4],
])('%s leaves no record', async (_, reply, exit) => {
  const { run, records } = await given(text('{"error":{"message":"No."}}', reply))
  const { code, out } = await run([...generate, '--wait'])
  expect([code, out, await records()]).toEqual([exit, '', []])
})

test.each([
  ['cut', [readAll, end], 7],
  ['reset', [readAll, reset], 7],
  ['half a reply', [readAll, write(head(200, { 'content-length': '100' }) + '{"na'), end], 7],
  ['a page of a proxy', text('<html>Bad gateway</html>', { status: 502 }), 7],
  ['a reply without an id', json({ ok: true }), 8],
  ['no JSON', text('accepted'), 8],
] as const)('a POST whose reply is lost (%s) leaves a record with its key', async (_, reply, exit) => {
  const { server, run, records } = await given(reply)
  const { code, out, err } = await run([...generate, '--wait'])
  const key = server.requests[0]!.headers['idempotency-key']!
  expect([code, out]).toEqual([exit, ''])
  expect(err).toContain(key)
  expect(err).toContain('A job may exist.')
  expect(err).toContain('may have been billed')
  expect(await records()).toMatchObject([{ id: null, state: 'unknown', idempotency_key: key }])

  const waited = await run(['wait', '--last'])
  expect([waited.code, waited.out]).toEqual([2, ''])
  expect(waited.err).toContain(key)
  const listed = await run(['jobs', '--json'])
  expect(JSON.parse(listed.out)).toMatchObject({
    jobs: [{ id: null, state: 'unknown', idempotency_key: key }],
  })
  // A person sees it in the table, too.
  expect((await run(['jobs'])).out).toContain('unknown')
})

test('neither a key nor pictures get on record', async () => {
  const workspace = await given(started)
  const picture = pngBytes({ width: 9, height: 9 })
  writeFiles(workspace.cwd, { 'a.png': picture })
  // The key in places where it has no business, as whoever pastes too much puts it.
  const prompt = `A boat ${workspace.key}`
  const words = 'generate -m veo --no-wait --no-validate --image a.png --set'.split(' ')
  const { code } = await workspace.run([...words, `note="${workspace.key}"`, prompt])
  expect(code).toBe(0)
  const calls = join(workspace.home, '.local/state/modelgate/calls')
  const contents = readdirSync(calls, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
  // The month, the version, and the words of the job and of the call.
  expect(contents.length).toBe(4)
  expect(
    contents.filter((text) => !text.startsWith('{"arguments"') && text.includes(picture.toString('base64'))),
  ).toEqual([])
  expect(contents.filter((text) => text.includes(workspace.key))).toEqual([])
})

test('a state folder that cannot be written is told, and the job is started all the same', async () => {
  const workspace = await given(started, finished(['/a.mp4']), film())
  writeFiles(workspace.home, { state: 'a file' })
  const env = { MODELGATE_STATE_DIR: join(workspace.home, 'state') }
  const { code, out, err } = await workspace.run(savingX, { env })
  expect([code, out]).toEqual([0, 'x.mp4\n'])
  expect(err).toContain('not on record')
  expect(err).toContain(`job started; resume with: modelgate wait -o x.mp4 ${operation}\n`)
  expectNoPart(workspace)
})

test('--last is the newest, a beginning is enough, and an ambiguous one is refused with all ids', async () => {
  const ids = ['video_aaa1', 'video_aab2', 'video_b']
  const replies = ids.map((id) => json({ id, object: 'video', status: 'queued' }))
  const lookUp = (id: string) => json({ id, object: 'video', status: 'in_progress' })
  const { run } = await given(...replies, lookUp('video_b'), lookUp('video_aab2'))
  for (const _ of ids) await run([...remix, '--no-check', '--no-wait'])
  expect((await run(['status', '--last', '--json'])).out).toContain('"video_b"')
  expect((await run(['status', 'video_aab', '--json'])).out).toContain('"video_aab2"')
  const { code, err } = await run(['status', 'video_aa'])
  expect(code).toBe(2)
  expect(err).toContain('video_aaa1')
  expect(err).toContain('video_aab2')
  expect((await run(['status', '--last', 'video_b'])).code).toBe(2)
  expect((await run(['status'])).code).toBe(2)
})

test('an id of a video that has slashes is no name of an operation', async () => {
  const id = 'video_a+b/c=='
  const path = '/v1/videos/video_a%2Bb%2Fc%3D%3D'
  const found = json({ id, object: 'video', status: 'completed' })
  const { server, run } = await given(found, found, video('queued'))
  expect((await run(['status', id])).code).toBe(0)
  expect((await run(['remix', '-m', 'video-model-remix', id, 'Make it night', '--no-wait'])).code).toBe(0)
  expect(server.requests.map(({ line }) => line.split(' ').slice(0, 2).join(' '))).toEqual([
    `GET ${path}`,
    `GET ${path}`,
    `POST ${path}/remix`,
  ])
})

test('a job of another gateway is not asked for where nobody knows it', async () => {
  const { server, run } = await given(video('queued'))
  await run([...remix, '--no-check', '--no-wait'])
  const { code, err } = await run(['wait', '--last', '--base-url', 'http://127.0.0.1:9999'])
  expect(code).toBe(2)
  expect(err).toContain(videoId)
  expect(err).toContain(`hint: Add --base-url ${server.url}/, or`)
  expect((await run(['wait', '--last', '--sandbox'])).err).toContain('leave out --sandbox')
})

const unset = { MODELGATE_BASE_URL: '' }

test('a job on record knows its gateway, so that no address has to be configured again', async () => {
  const { run } = await given(
    video('queued'),
    video('in_progress'),
    video('in_progress'),
    video('completed'),
    video('completed'),
    video('queued', { id: 'video_next' }),
    video('completed'),
    film(),
  )
  await run([...remix, '--no-check', '--no-wait'])
  expect((await run(['status', '--last'], { env: unset })).code).toBe(0)
  expect((await run(['jobs', '--refresh'], { env: unset })).code).toBe(0)
  expect((await run(['jobs', '--refresh'], { env: unset })).out).toContain('completed')
  const again = ['remix', '-m', 'sora-2', '--last', 'Day', '--no-wait']
  expect(await run(again, { env: unset })).toMatchObject({ code: 0, out: 'video_next\n' })
  expect((await run(['wait', videoId, '-o', 'x.mp4'], { env: unset })).out).toBe('x.mp4\n')
})

test.each([
  ['generate', [...generate, '--no-wait'], operation, `{"name":"${operation}","metadata":{"a"`],
  ['remix', [...remix, '--no-check', '--no-wait'], videoId, `{"id":"${videoId}","object":"vi`],
])('%s warns of a reply that is cut inside, after the name of the job', async (_, words, id, content) => {
  const cut = [readAll, write(`${head(200, { 'content-length': '1000' })}${content}`), end]
  const { run } = await given(cut, cut, cut)
  const warning = "The gateway's reply was cut short after the id of the job; the rest of it is missing."
  const plain = await run(words)
  expect(plain).toMatchObject({ code: 0, out: `${id}\n` })
  expect(plain.err).toContain(`warning: ${warning}`)
  const json = await run([...words, '--json'])
  expect(json.code).toBe(0)
  expect(JSON.parse(json.out)).toMatchObject({ id, warnings: [warning] })
  expect(json.err).toContain(`warning: ${warning}`)
  const raw = await run([...words, '--raw'])
  expect(raw.code).toBe(0)
  expect(raw.out).toContain(id)
  expect(raw.err).toContain(`warning: ${warning}`)
})
