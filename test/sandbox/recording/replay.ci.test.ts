import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { recorder, recordingsIn, replayer } from '../../support/recorder.ts'
import { call, runningSandbox, type Json } from '../../support/running-sandbox.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'

const responses = '/v1/responses'

const headers = { 'content-type': 'application/json' }

function recording(more: Json = {}, reply: Json = {}) {
  return {
    format: 'modelgate-recording-1',
    recorded: '2026-11-01T00:00:00.000Z',
    request: { method: 'POST', path: responses, body: { json: { input: 'Hi', model: 'm' } } },
    reply: { status: 200, headers, body: { json: { n: 1 } }, ...reply },
    ...more,
  }
}

function folderOf(...recordings: unknown[]): string {
  const folder = temporaryFolder()
  for (const [at, one] of recordings.entries()) {
    writeFiles(folder, { [`${at + 1}.json`]: typeof one === 'string' ? one : JSON.stringify(one) })
  }
  return folder
}

test('a request without a recording is 404 with the nearest named, and goes nowhere', async () => {
  const gateway = await runningSandbox()
  const recorded = await recorder(gateway.url)
  await call(recorded, responses, { input: 'Name a river', model: 'sandbox-text' })
  await call(recorded, responses, { input: [{ role: 'user', content: 'Name a river' }] })
  const replaying = await replayer(recorded.folder)
  const [first, second] = recordingsIn(recorded.folder)
  const before = gateway.requests().length
  const changed = await call(replaying, responses, { input: 'Name a lake', model: 'sandbox-text' })
  const message = `No recording answers POST /v1/responses. The nearest is ${first}, which differs in: input.`
  const missed = { message, code: 'recording_not_found' }
  expect([changed.status, changed.json.error]).toMatchObject([404, missed])
  const inner = await call(replaying, responses, { input: [{ role: 'user', content: 'Name a lake' }] })
  expect(inner.json.error.message).toContain(`${second}, which differs in: input[0].content.`)
  const other = await call(replaying, '/v1beta/models/m:generateContent', { contents: [] })
  expect(other.json.error).toMatchObject({
    code: 404,
    status: 'NOT_FOUND',
    message: 'No recording answers POST /v1beta/models/m:generateContent. None has this path.',
  })
  expect(gateway.requests()).toHaveLength(before)
  expect(replaying.lines).toHaveLength(3)
  expect(replaying.recordings()).toMatchObject({ missed: 3, used: 0, unused: [first, second] })
})

test('the statistics tell what was used, and what was not', async () => {
  const unused = recording({ request: { method: 'GET', path: '/v1/x' } })
  const replaying = await replayer(folderOf(recording(), unused))
  await call(replaying, responses, { input: 'Hi', model: 'm' })
  const { json } = await call(replaying, '/sandbox/stats')
  const nothing = { missed: 0, misses: [], damaged: [] }
  const oldest = '2026-11-01T00:00:00.000Z'
  const counts = { mode: 'replay', recordings: 2, used: 1, unused: ['2.json'], oldest }
  expect(json.recordings).toEqual({ ...counts, ...nothing })
  const gateway = await runningSandbox()
  expect((await call(gateway, '/sandbox/stats')).json).not.toHaveProperty('recordings')
})

test('a recording that is edited while it is played counts at the next request', async () => {
  const folder = folderOf(recording())
  const replaying = await replayer(folder)
  writeFiles(folder, { '1.json': JSON.stringify(recording({}, { body: { text: 'edited' } })) })
  expect((await call(replaying, responses, { input: 'Hi', model: 'm' })).text).toBe('edited')
})

test('what a person writes by hand is enough', async () => {
  const events = [
    { ms: 0, data: { a: 1.5 } },
    { ms: 0, event: 'x', data: {} },
    { ms: 0, text: 'data: [DONE]\n\n' },
  ]
  const hand = recording({}, { headers: { 'content-type': 'text/event-stream' }, body: { events } })
  const replaying = await replayer(folderOf(JSON.stringify(hand, null, 2)))
  const { text } = await call(replaying, responses, { model: 'm', input: 'Hi' })
  expect(text).toBe('data: {"a":1.5}\n\nevent: x\ndata: {}\n\ndata: [DONE]\n\n')
})

test('numbers of a reply are what the gateway wrote', async () => {
  const written = JSON.stringify(recording()).replace('{"n":1}', '{"n":1.0,"id":9007199254740993}')
  const { text } = await call(await replayer(folderOf(written)), responses, { input: 'Hi', model: 'm' })
  expect(text).toBe('{"n":1.0,"id":9007199254740993}')
})

test('the example of the documentation is a recording', async () => {
  const document = readFileSync(new URL('../../../docs/recordings.md', import.meta.url), 'utf8')
  const [, example = ''] = /```json\n([^]*?)```/.exec(document) ?? []
  const replaying = await replayer(folderOf(`\ufeff${example}`))
  const { text } = await call(replaying, responses, { stream: true, input: 'Name a river' })
  expect(text).toBe(
    'event: response.created\ndata: {"type":"response.created"}\n\n' +
      'event: response.output_text.delta\ndata: {"delta":"The Loire"}\n\n',
  )
})

test('a request for a part is answered with a recorded part, else with the whole', async () => {
  const get = { method: 'GET', path: '/v1/videos/v/content' }
  const whole = recording({ request: get }, { body: { text: 'whole' } })
  const request = { ...get, headers: { range: 'bytes=1-' } }
  const part = recording({ request }, { status: 206, body: { text: 'part' } })
  const replaying = await replayer(folderOf(whole, part))
  const ask = async (headers: Json) => (await call(replaying, get.path, undefined, { headers })).text
  expect(await ask({ range: 'bytes=1-' })).toBe('part')
  expect(await ask({ range: 'bytes=2-' })).toBe('whole')
  expect(await ask({})).toBe('whole')
})

const fileAt = (file: string) => recording({}, { body: { file, bytes: 1 } })

test.for([
  ['no JSON', '{', '1.json is not valid JSON.'],
  ['too deep', '['.repeat(100_000), '1.json is not valid JSON.'],
  ['deep and whole', `{"a":${'['.repeat(2000)}${']'.repeat(2000)}}`, '1.json is nested too deeply.'],
  ['another format', '{"format":"har"}', '1.json is not a recording: format: must be modelgate-recording-1.'],
  ['a list', '[]', '1.json is not a recording: format: '],
  ['a body outside the folder', fileAt('../../etc/passwd'), '1.json is not a recording: '],
  ['a body with a path', fileAt(`bodies/../../${'a'.repeat(64)}.txt`), '1.json is not a recording: '],
  [
    'a header that splits the reply',
    recording({}, { headers: { a: 'b\r\nc: d' } }),
    '1.json is not a recording: reply.headers.a: is not the value of a header.',
  ],
  ['a status that is none', recording({}, { status: 7 }), '1.json is not a recording: reply.status: '],
  ['a negative time', recording({}, { after_ms: -1 }), '1.json is not a recording: reply.after_ms: '],
  ['no time', recording({ recorded: 'yesterday' }), '1.json is not a recording: recorded: is not a time'],
] as const)('a hostile recording is refused before anything is served: %s', async ([, content, message]) => {
  const refusal = { exitCode: 2, code: 'not_recorded', message: expect.stringContaining(message) }
  await expect(replayer(folderOf(content))).rejects.toMatchObject(refusal)
})

test('all damaged recordings are named at once', async () => {
  const refused = replayer(folderOf('{', recording(), '[', ...Array<string>(30).fill('')))
  await expect(refused).rejects.toThrow(/^1\.json is not valid JSON\.\n3\.json [^]*\n12 more\.$/)
})

test('a folder without recordings is refused', async () => {
  await expect(replayer(temporaryFolder())).rejects.toMatchObject({ code: 'not_recorded', exitCode: 2 })
  await expect(replayer('/no/such/folder')).rejects.toMatchObject({ code: 'not_recorded', exitCode: 10 })
})

test.for(['changed', 'removed', 'longer'] as const)(
  'a body that was %s is a 500, and the server goes on',
  async (how) => {
    const gateway = await runningSandbox()
    const recorded = await recorder(gateway.url)
    await call(recorded, '/v1/images/generations', { prompt: 'A hill', n: 3 })
    await call(recorded, responses, { input: 'x' })
    const bodies = join(recorded.folder, 'bodies')
    for (const name of readdirSync(bodies)) {
      const path = join(bodies, name)
      if (how === 'removed') rmSync(path)
      else if (how === 'longer') writeFileSync(path, `${readFileSync(path, 'utf8')} `)
      else writeFileSync(path, readFileSync(path, 'utf8').replace('{', '['))
    }
    const replaying = await replayer(recorded.folder)
    const { status, json } = await call(replaying, '/v1/images/generations', { prompt: 'A hill', n: 3 })
    expect([status, json.error.code]).toEqual([500, 'recording_damaged'])
    expect((await call(replaying, responses, { input: 'x' })).status).toBe(200)
    expect(replaying.recordings()).toMatchObject({ damaged: [expect.stringMatching(/^bodies\//)] })
  },
)

test('no web page gets an answer, and any key will do', async () => {
  const replaying = await replayer(folderOf(recording()))
  const ask = (headers: Json) => call(replaying, responses, { input: 'Hi', model: 'm' }, { headers })
  expect((await ask({ origin: 'https://evil.example' })).status).toBe(403)
  expect((await ask({ authorization: 'Bearer invalid' })).status).toBe(200)
})
