import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Interrupted } from '../../../src/errors.ts'
import { JobStore } from '../../../src/files/calls/job-store.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { localServer } from '../../support/local-server.ts'
import { head, json, readAll, reset, sse, stall, text, write } from '../../support/server-replies.ts'
import { answeredBy } from '../answered.ts'
import { videoWorkspace, type VideoWorkspace } from '../videos/video-run.ts'

const answer = (words: string) => [
  { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: words }] },
]
const response = (status: string, more: object = {}) => {
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    model: 'm',
    status,
    error: null,
    output: [],
    ...more,
  }
}
const completed = response('completed', { output: answer('Hello.'), completed_at: 3 })
const start = ['respond', '-m', 'm', '--background', 'Say hello.']
const workspaceOf = (server: { readonly url: string }) => videoWorkspace(server, [])
const { given } = answeredBy(workspaceOf)

/** What is on record of background responses. */
async function recordsOf({ home }: VideoWorkspace) {
  const store = new JobStore(join(home, '.local/state/modelgate'), fakeClock())
  return (await store.list()).jobs.map((job) => ({ ...job.record, prompt: job.prompt() }))
}

test('the id alone is printed, exit 0, and the response is on record', async () => {
  const { server, ...workspace } = await given(json(response('queued')))
  const { code, out, err } = await workspace.run(start)
  expect([code, out]).toEqual([0, 'resp_1\n'])
  expect(err).toBe('response started; resume with: modelgate wait resp_1\n')
  const body = JSON.parse(server.requests[0]!.body.toString()) as object
  expect(body).toEqual({ model: 'm', background: true, stream: false, input: 'Say hello.' })
  expect(await recordsOf(workspace)).toMatchObject([
    { id: 'resp_1', kind: 'response', state: 'queued', prompt: 'Say hello.', is_sandbox: false },
  ])
})

test('--json prints the document with id and state, --raw the object of the gateway', async () => {
  const queued = response('queued')
  const { run } = await given(json(queued), json(queued))
  const { out } = await run([...start, '--json'])
  expect(JSON.parse(out)).toMatchObject({ command: 'respond', id: 'resp_1', state: 'queued', text: '' })
  expect((await run([...start, '--raw'])).out).toBe(`${JSON.stringify(queued)}\n`)
})

test.each([
  '"status":"que',
  '"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Hel',
])('of a reply that is cut behind the id, nothing else is believed: %s', async (rest) => {
  const beginning = `{"id":"resp_1","object":"response",${rest}`
  const cut = [readAll, write(head(200, { 'content-length': '500' }) + beginning), reset]
  const workspace = await given(cut)
  const { code, out, err } = await workspace.run(start)
  expect([code, out]).toEqual([0, 'resp_1\n'])
  expect(err).not.toContain('finish reason')
  expect(await recordsOf(workspace)).toMatchObject([{ id: 'resp_1', state: 'queued' }])
})

test.each([
  ['a lost reply', [readAll, reset]],
  ['a failure of the gateway', text('', { status: 502 })],
])('after %s the outcome is unknown, nothing is sent again, and the key is on record', async (_, reply) => {
  const workspace = await given(reply)
  const { code, out, err } = await workspace.run(start)
  expect([code, out]).toEqual([7, ''])
  const [record] = await recordsOf(workspace)
  expect(record).toMatchObject({ id: null, state: 'unknown' })
  expect(err).toContain('A response may exist.')
  expect(err).toContain(record!.idempotency_key)
  const last = await workspace.run(['wait', '--last'])
  expect([last.code, last.err]).toEqual([2, expect.stringContaining(record!.idempotency_key)])
})

test('--no-store is a warning: the answer may not be there later', async () => {
  const { run } = await given(json(response('queued')))
  expect((await run([...start, '--no-store'])).err).toContain('warning: --no-store')
})

/** A state as the gateway tells it, and what each command makes of it. */
const states: readonly (readonly [string, object, code: number, out: string])[] = [
  ['completed', completed, 0, 'Hello.\n'],
  ['failed', response('failed', { error: { code: 'server_error', message: 'Broken.' } }), 9, ''],
  ['cancelled', response('cancelled'), 9, ''],
  [
    'incomplete',
    response('incomplete', {
      incomplete_details: { reason: 'max_output_tokens' },
      output: answer('Hel'),
    }),
    0,
    'Hel\n',
  ],
  ['incomplete', response('incomplete', { incomplete_details: { reason: 'max_output_tokens' } }), 9, ''],
]

test.each(states)('the state %s: %j', async (state, found, code, out) => {
  const workspace = workspaceOf(await localServer([json(found), json(found)]))
  const waited = await workspace.run(['wait', 'resp_1'])
  expect([waited.code, waited.out]).toEqual([code, out])
  expect(waited.err).not.toContain(`${state} (${state})`)
  const again = await workspace.run(['wait', 'resp_1', '--json'])
  const { partial, ...document } = JSON.parse(
    code === 0 ? again.out : again.err.slice(again.err.indexOf('{')),
  ) as { partial?: object }
  expect(partial ?? document).toMatchObject({ command: 'wait', id: 'resp_1', state })
})

test('one that was started a moment ago may not be known everywhere yet', async () => {
  const missing = json({ error: { message: 'No such response.' } }, { status: 404 })
  const replies = [json(response('queued')), missing, missing, missing, json(completed)]
  const workspace = workspaceOf(await localServer(replies))
  await workspace.run(start)
  expect((await workspace.run(['wait', '--last'])).code).toBe(0)
})

test.each(['queued', 'in_progress', 'thinking_hard'])('%s means that it is still running', async (status) => {
  const running = json(response(status))
  const { run } = await given(running, running, json(completed))
  const judged = await run(['wait', 'resp_1', '--timeout', '1'])
  expect(judged.code).toBe(11)
  expect(judged.err).toContain('modelgate wait resp_1')
  expect(judged.err).not.toContain('was billed')
  const waited = await run(['wait', 'resp_1'])
  expect([waited.code, waited.out]).toEqual([0, 'Hello.\n'])
})

test('a deadline ends the wait with 11 and the command that goes on, which goes on', async () => {
  const running = json(response('in_progress'))
  const workspace = await given(json(response('queued')), running, running, json(completed))
  await workspace.run(start)
  const { code, err } = await workspace.run(['wait', '--last', '--timeout', '3'])
  expect(code).toBe(11)
  const again = await workspace.paste(err)
  expect([again.code, again.out]).toEqual([0, 'Hello.\n'])
  expect(await recordsOf(workspace)).toMatchObject([{ state: 'completed' }])
})

test('the record knows the gateway: nothing else has to say it', async () => {
  const { run } = await given(json(response('queued')), json(completed))
  await run(start)
  const env = { MODELGATE_BASE_URL: undefined }
  expect(await run(['wait', '--last'], { env })).toMatchObject({
    code: 0,
    out: 'Hello.\n',
  })
})

test('the answer goes where the first command said, in its own folder', async () => {
  const { run, files, home, read } = await given(json(response('queued')), json(completed), json(completed))
  expect((await run([...start, '-o', 'answer.txt'])).out).toBe('resp_1\n')
  expect(files()).toEqual([])
  const elsewhere = { cwd: home }
  expect(await run(['wait', 'resp_1'], elsewhere)).toMatchObject({ code: 0, out: '' })
  expect(read('answer.txt').toString()).toBe('Hello.')
  const again = await run(['wait', '--last'])
  expect([again.code, again.out]).toEqual([0, 'Hello.\n'])
  expect(again.err).toContain('exists already, so the answer is printed')
})

test.each([
  ['answers/', 'answers/resp_1.txt'],
  ['{id}.md', 'resp_1.md'],
])('-o %s names the file of an answer after its response', async (output, path) => {
  const { run, read } = await given(json(completed))
  expect(await run(['wait', 'resp_1', '-o', output])).toMatchObject({ code: 0, out: '' })
  expect(read(path).toString()).toBe('Hello.')
})

test('an answer is checked against the schema of the first command', async () => {
  const { run } = await given(json(response('queued')), json(completed))
  await run([...start, '--schema', '{"type":"object"}'])
  const { code, out } = await run(['wait', '--last'])
  expect([code, out]).toEqual([14, 'Hello.\n'])
})

test('cancel tells how it ended', async () => {
  const { server, run } = await given(json(response('cancelled')))
  const { code, out, err } = await run(['cancel', 'resp_1'])
  expect([code, out, err]).toEqual([0, expect.stringContaining('state     cancelled\n'), ''])
  expect(server.requests[0]!.line).toBe('POST /v1/responses/resp_1/cancel HTTP/1.1')
})

test.each([
  ['leaves one that has ended as it is', [json(completed)]],
  ['looks up one that cannot be cancelled any more', [text('', { status: 409 }), json(completed)]],
])('cancel %s', async (_, replies) => {
  const { code, out, err } = await workspaceOf(await localServer(replies)).run(['cancel', 'resp_1'])
  expect([code, out]).toEqual([0, expect.stringContaining('state     completed\n')])
  expect(err).toContain('had ended before it could be cancelled')
})

test.each([['wait'], ['cancel']])('%s of an unknown id is 4, without one 2', async (command) => {
  const missing = json({ error: { message: 'Not found.' } }, { status: 404 })
  const count = command === 'cancel' ? 2 : 1
  const workspace = workspaceOf(await localServer(Array.from({ length: count }, () => missing)))
  const { code, out, err } = await workspace.run([command, 'resp_9'])
  expect([code, out, err]).toEqual([4, '', expect.stringContaining('knows no response resp_9')])
  expect((await workspace.run([command])).code).toBe(2)
  expect((await workspace.run([command, '--last'])).code).toBe(2)
})

test('the list has every response of this machine, looked up on demand, and forgets what is over', async () => {
  const { run } = await given(
    json(response('queued')),
    json({ ...response('queued'), id: 'resp_2' }),
    json({ ...response('in_progress'), id: 'resp_2' }),
    json(completed),
  )
  await run(start)
  await run(start)
  const listed = async (...words: readonly string[]) => {
    const { out } = await run(['jobs', '--json', ...words])
    const { jobs } = JSON.parse(out) as { jobs: { id: string; state: string; kind: string }[] }
    return jobs.map(({ id, state, kind }) => `${kind} ${id} ${state}`)
  }
  expect(await listed()).toEqual(['response resp_2 queued', 'response resp_1 queued'])
  expect(await listed('--refresh')).toEqual(['response resp_2 in_progress', 'response resp_1 completed'])
  expect(await listed('--state', 'completed')).toEqual(['response resp_1 completed'])
  expect(await listed('--prune')).toEqual(['response resp_1 completed'])
  expect(await listed()).toEqual(['response resp_2 in_progress'])
})

const event = (sequence_number: number, value: object) =>
  `data: ${JSON.stringify({ ...value, sequence_number })}\n\n`
const queuedEvent = event(0, { type: 'response.queued', response: response('queued') })
const delta = (number: number, words: string) =>
  event(number, { type: 'response.output_text.delta', output_index: 0, delta: words })
const completedEvent = event(3, { type: 'response.completed', response: completed })

test('a signal while the answer streams tells the command that prints the rest', async () => {
  const begun = [readAll, write(head(200, { 'content-type': 'text/event-stream' })), write(queuedEvent)]
  const { server, ...workspace } = await given(
    [...begun, write(delta(1, 'Hel')), stall],
    sse([delta(2, 'lo.'), completedEvent]),
  )
  const program = workspace.start([...start, '--stream'])
  await program.until(() => program.context.stdout.text === 'Hel')
  program.context.abort(new Interrupted('interrupt'))
  expect(await program.exitCode).toBe(130)
  const { text: err } = program.context.stderr
  expect(err).toContain('modelgate wait --stream --starting-after 1 resp_1')
  const hint = err.slice(err.indexOf('to wait for it'))
  expect(await workspace.paste(hint)).toMatchObject({ code: 0, out: 'lo.\n' })
  expect(server.requests[1]!.line).toBe('GET /v1/responses/resp_1?stream=true&starting_after=1 HTTP/1.1')
})

test('wait --stream prints words as they arrive, and --jsonl tells of each', async () => {
  const stream = sse([queuedEvent, delta(1, 'Hel'), delta(2, 'lo.'), completedEvent])
  const { run } = await given(stream, stream)
  expect(await run(['wait', 'resp_1', '--stream'])).toMatchObject({ out: 'Hello.\n' })
  const { out } = await run(['wait', 'resp_1', '--stream', '--jsonl'])
  const lines = out.trimEnd().split('\n')
  expect(lines.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual([
    'start',
    'text-delta',
    'text-delta',
    'end',
  ])
})
