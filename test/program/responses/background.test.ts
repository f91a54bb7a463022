import { expect, test } from 'vitest'
import { Interrupted } from '../../../src/errors.ts'
import { head, json, readAll, reset, sse, stall, text, write } from '../../support/server-replies.ts'
import { answeredBy } from '../workspace.ts'

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
const answer = (words: string) => {
  const content = [{ type: 'output_text', text: words }]
  return { output: [{ type: 'message', role: 'assistant', content }] }
}
const completed = response('completed', { ...answer('Hello.'), completed_at: 3 })
const missing = json({ error: { message: 'No such response.' } }, { status: 404 })
const [queued, running, done] = [response('queued'), response('in_progress'), completed].map((one) =>
  json(one),
)
const start = ['respond', '-m', 'm', '--background', 'Say hello.']
const last = ['wait', '--last']
const { given, runGiven } = answeredBy()

test('the id alone is printed, exit 0, and the response is on record', async () => {
  const { code, out, err, server, records } = await runGiven(start, queued!)
  expect([code, out]).toEqual([0, 'resp_1\n'])
  expect(err).toBe('response started; resume with: modelgate wait resp_1\n')
  const body = { model: 'm', background: true, stream: false, input: 'Say hello.' }
  expect(JSON.parse(server.requests[0]!.body.toString())).toEqual(body)
  expect(await records()).toMatchObject([
    { id: 'resp_1', kind: 'response', state: 'queued', prompt: 'Say hello.', is_sandbox: false },
  ])
})

test('--json prints the document with id and state, --raw the object of the gateway', async () => {
  const { out } = await runGiven([...start, '--json'], queued!)
  expect(JSON.parse(out)).toMatchObject({ command: 'respond', id: 'resp_1', state: 'queued', text: '' })
  const raw = await runGiven([...start, '--raw'], queued!)
  expect(raw.out).toBe(`${JSON.stringify(response('queued'))}\n`)
})

test.each([
  '"status":"que',
  '"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Hel',
])('of a reply that is cut behind the id, nothing else is believed: %s', async (rest) => {
  const beginning = `{"id":"resp_1","object":"response",${rest}`
  const cut = [readAll, write(head(200, { 'content-length': '500' }) + beginning), reset]
  const { code, out, err, records } = await runGiven(start, cut)
  expect([code, out, err]).toEqual([0, 'resp_1\n', expect.not.stringContaining('finish reason')])
  expect(await records()).toMatchObject([{ id: 'resp_1', state: 'queued' }])
})

test.each([
  ['a lost reply', [readAll, reset]],
  ['a failure of the gateway', text('', { status: 502 })],
])('after %s the outcome is unknown, nothing is sent again, and the key is on record', async (_, reply) => {
  const { code, out, err, records, run } = await runGiven(start, reply)
  expect([code, out]).toEqual([7, ''])
  const [record] = await records()
  expect(record).toMatchObject({ id: null, state: 'unknown' })
  expect(err).toContain('A response may exist.')
  expect(err).toContain(record!.idempotency_key)
  const { code: exit, err: told } = await run(last)
  expect([exit, told]).toEqual([2, expect.stringContaining(record!.idempotency_key)])
})

test('--no-store is a warning: the answer may not be there later', async () => {
  expect((await runGiven([...start, '--no-store'], queued!)).err).toContain('warning: --no-store')
})

const limit = { incomplete_details: { reason: 'max_output_tokens' } }

test.each<[string, object, code: number, out: string]>([
  ['completed', completed, 0, 'Hello.\n'],
  ['failed', response('failed', { error: { code: 'server_error', message: 'Broken.' } }), 9, ''],
  ['cancelled', response('cancelled'), 9, ''],
  ['incomplete', response('incomplete', { ...limit, ...answer('Hel') }), 0, 'Hel\n'],
  ['incomplete', response('incomplete', limit), 9, ''],
])('the state %s: %j', async (state, found, code, out) => {
  const waited = await runGiven(['wait', 'resp_1'], json(found))
  expect(waited).toMatchObject({ code, out })
  expect(waited.err).not.toContain(`${state} (${state})`)
  const asJson = await runGiven(['wait', 'resp_1', '--json'], json(found))
  const document = JSON.parse(code === 0 ? asJson.out : asJson.err.slice(asJson.err.indexOf('{')))
  expect(document.partial ?? document).toMatchObject({ command: 'wait', id: 'resp_1', state })
})

test('one that was started a moment ago may not be known everywhere yet', async () => {
  const { run } = await given(queued!, missing, missing, missing, done!)
  await run(start)
  expect((await run(last)).code).toBe(0)
})

test.each(['queued', 'in_progress', 'thinking_hard'])('%s means that it is still running', async (status) => {
  const state = json(response(status))
  const { run, paste } = await given(state, state, done!)
  const { code, err } = await run(['wait', 'resp_1', '--timeout', '1'])
  expect([code, err]).toEqual([11, expect.not.stringContaining('was billed')])
  expect(await paste(err)).toMatchObject({ code: 0, out: 'Hello.\n' })
})

test('a deadline ends the wait with 11 and the command that goes on, which goes on without an address', async () => {
  const { run, paste, records } = await given(queued!, running!, running!, done!)
  await run(start)
  const { code, err } = await run([...last, '--timeout', '3'])
  expect(code).toBe(11)
  const unset = { env: { MODELGATE_BASE_URL: undefined } }
  expect(await paste(err, unset)).toMatchObject({ code: 0, out: 'Hello.\n' })
  expect(await records()).toMatchObject([{ state: 'completed' }])
})

test('the answer goes where the first command said, in its own folder', async () => {
  const { run, files, home, read } = await given(queued!, done!, done!)
  expect((await run([...start, '-o', 'answer.txt'])).out).toBe('resp_1\n')
  expect(files()).toEqual([])
  expect(await run(['wait', 'resp_1'], { cwd: home })).toMatchObject({ code: 0, out: '' })
  expect(read('answer.txt').toString()).toBe('Hello.')
  const again = await run(last)
  expect([again.code, again.out]).toEqual([0, 'Hello.\n'])
  expect(again.err).toContain('exists already, so the answer is printed')
})

test.each([
  ['answers/', 'answers/resp_1.txt'],
  ['{id}.md', 'resp_1.md'],
])('-o %s names the file of an answer after its response', async (output, path) => {
  const { code, out, read } = await runGiven(['wait', 'resp_1', '-o', output], done!)
  expect([code, out, read(path).toString()]).toEqual([0, '', 'Hello.'])
})

test('an answer is checked against the schema of the first command', async () => {
  const { run } = await given(queued!, done!)
  await run([...start, '--schema', '{"type":"object"}'])
  expect(await run(last)).toMatchObject({ code: 14, out: 'Hello.\n' })
})

test.each([
  ['cancels', 'cancelled', [json(response('cancelled'))], ''],
  ['leaves one that has ended as it is', 'completed', [done!], 'had ended before it could be cancelled'],
  [
    'looks up one that cannot be cancelled any more',
    'completed',
    [text('', { status: 409 }), done!],
    'had ended before it could be cancelled',
  ],
])('cancel %s', async (_, state, replies, says) => {
  const { code, out, err, server } = await runGiven(['cancel', 'resp_1'], ...replies)
  expect([code, out]).toEqual([0, expect.stringContaining(`state     ${state}\n`)])
  expect(err).toMatch(says === '' ? /^$/ : says)
  expect(server.requests[0]!.line).toBe('POST /v1/responses/resp_1/cancel HTTP/1.1')
})

test.each([
  ['wait', [missing]],
  ['cancel', [missing, missing]],
])('%s of an unknown id is 4, without one 2', async (command, replies) => {
  const { code, out, err, run } = await runGiven([command, 'resp_9'], ...replies)
  expect([code, out, err]).toEqual([4, '', expect.stringContaining('knows no response resp_9')])
  expect((await run([command])).code).toBe(2)
  expect((await run([command, '--last'])).code).toBe(2)
})

test('the list has every response of this machine, looked up on demand, and forgets what is over', async () => {
  const [second, known] = ['queued', 'in_progress'].map((status) =>
    json({ ...response(status), id: 'resp_2' }),
  )
  const { run } = await given(queued!, second!, known!, done!)
  await run(start)
  await run(start)
  const listed = async (...words: readonly string[]) => {
    const { jobs } = JSON.parse((await run(['jobs', '--json', ...words])).out)
    return jobs.map(({ id, state, kind }: Record<string, string>) => `${kind} ${id} ${state}`)
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
  const {
    server,
    start: begin,
    paste,
  } = await given([...begun, write(delta(1, 'Hel')), stall], sse([delta(2, 'lo.'), completedEvent]))
  const program = begin([...start, '--stream'])
  await program.until(() => program.context.stdout.text === 'Hel')
  program.context.abort(new Interrupted('interrupt'))
  expect(await program.exitCode).toBe(130)
  const { text: err } = program.context.stderr
  expect(err).toContain('modelgate wait --stream --starting-after 1 resp_1')
  const hint = err.slice(err.indexOf('to wait for it'))
  expect(await paste(hint)).toMatchObject({ code: 0, out: 'lo.\n' })
  expect(server.requests[1]!.line).toBe('GET /v1/responses/resp_1?stream=true&starting_after=1 HTTP/1.1')
})

test('wait --stream prints words as they arrive, and --jsonl tells of each', async () => {
  const stream = sse([queuedEvent, delta(1, 'Hel'), delta(2, 'lo.'), completedEvent])
  expect(await runGiven(['wait', 'resp_1', '--stream'], stream)).toMatchObject({ out: 'Hello.\n' })
  const { out } = await runGiven(['wait', 'resp_1', '--stream', '--jsonl'], stream)
  const types = [...out.matchAll(/^\{"type":"([\w-]+)"/gm)].map(([, type]) => type)
  expect(types).toEqual(['start', 'text-delta', 'text-delta', 'end'])
})
