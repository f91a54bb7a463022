import { expect, test } from 'vitest'
import { describeRequest, differences, keyOf } from '../../../src/sandbox/recording/recorded-request.ts'

const json = { 'content-type': 'application/json' }

function described(
  body: string | Uint8Array,
  headers: Record<string, string> = json,
  path = '/v1/responses',
) {
  const [plain, query] = path.split('?')
  return describeRequest({
    method: 'POST',
    path: plain!,
    query: new URLSearchParams(query),
    headers,
    body: Buffer.from(body as string),
    origin: 'http://127.0.0.1:4711',
  })
}

function form(boundary: string, ...parts: (readonly [name: string, value: string, file?: string])[]) {
  const lines = parts.map(([name, value, file]) => {
    const fileName = file === undefined ? '' : `; filename="${file}"\r\nContent-Type: image/png`
    return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${fileName}\r\n\r\n${value}\r\n`
  })
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
  return described(`${lines.join('')}--${boundary}--\r\n`, headers, '/v1/images/edits')
}

async function areSame(one: ReturnType<typeof described>, other: ReturnType<typeof described>) {
  return keyOf(await one) === keyOf(await other)
}

test('white space and the order of names make no difference; any value does', async () => {
  const one = described('{"model":"m","input":[{"role":"user","content":"hi"}]}')
  const same = '{ "input": [ {"content": "hi", "role": "user"} ],\n "model": "m" }'
  expect(await areSame(one, described(same))).toBe(true)
  expect(await areSame(one, described(same.replace('hi', 'ho')))).toBe(false)
  expect(await areSame(one, described('{"model":"m","input":[]}'))).toBe(false)
  expect(await areSame(described('[1,2]'), described('[2,1]'))).toBe(false)
})

test('the order of the query makes no difference, keys in it neither, and are not kept', async () => {
  const one = await described('{}', json, '/v1/x?b=2&alt=sse&key=AIza-secret')
  expect(one.path).toBe('/v1/x?alt=sse&b=2')
  expect(keyOf(one)).toBe(keyOf(await described('{}', json, '/v1/x?alt=sse&b=2&key=other')))
  expect(keyOf(one)).not.toBe(keyOf(await described('{}', json, '/v1/x?alt=json&b=2')))
})

test('the port of the sandbox makes no difference where a request names the address of a result', async () => {
  const { path, body } = await described(
    '{"image_url":"http://127.0.0.1:4711/sandbox/results/image-1"}',
    json,
    '/v1/files/http://127.0.0.1:4711/x',
  )
  expect(path).toBe('/v1/files/http://sandbox.invalid/x')
  expect(body).toEqual({ json: { image_url: 'http://sandbox.invalid/sandbox/results/image-1' } })
})

test('the boundary of a form makes no difference, nor a file name; a byte of a file does', async () => {
  const one = form('aaaa', ['prompt', 'A dog'], ['image', 'PNG bytes', 'a.png'])
  expect(await areSame(one, form('bbbb', ['image', 'PNG bytes', 'b.png'], ['prompt', 'A dog']))).toBe(true)
  expect(await areSame(one, form('aaaa', ['prompt', 'A dog'], ['image', 'PNG bytez', 'a.png']))).toBe(false)
  expect(await areSame(one, form('aaaa', ['prompt', 'A cat'], ['image', 'PNG bytes', 'a.png']))).toBe(false)
  const two = form('aaaa', ['image[]', 'one', 'a'], ['image[]', 'two', 'b'])
  expect(await areSame(two, form('aaaa', ['image[]', 'two', 'a'], ['image[]', 'one', 'b']))).toBe(false)
  expect((await one).body).toEqual({
    form: [
      {
        name: 'image',
        sha256: '9698103cd397cda6f9807a2e2bf51935727f47a62d9b6d4f82e54ef60c6ba831',
        bytes: 9,
      },
      { name: 'prompt', value: 'A dog' },
    ],
  })
})

test('other bodies are told apart by their digest', async () => {
  const type = { 'content-type': 'application/octet-stream' }
  expect(await areSame(described('abc', type), described('abc', type))).toBe(true)
  expect(await areSame(described('abc', type), described('abd', type))).toBe(false)
  expect((await described('abc', type)).body).toEqual({
    sha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    bytes: 3,
  })
})

test('a long string is kept as its digest, so that the rest can be read', async () => {
  const { body } = await described(JSON.stringify({ text: 'short', image_url: 'a'.repeat(5000) }))
  expect(body).toEqual({
    json: { image_url: expect.stringMatching(/^sha256:[\da-f]{64} \(5000 characters\)$/), text: 'short' },
  })
})

test.for([
  ['too deep', '['.repeat(100_000)],
  ['deep and whole', '['.repeat(5000) + ']'.repeat(5000)],
  ['cut', '{"a":'],
  ['not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
] as const)('a hostile body is only its digest: %s', async ([, body]) => {
  expect((await described(body)).body).toMatchObject({ sha256: expect.any(String) })
})

test('a form that cannot be read is only its digest', async () => {
  const headers = { 'content-type': 'multipart/form-data; boundary=x' }
  expect((await described('no form at all', headers)).body).toMatchObject({ sha256: expect.any(String) })
})

test('of the headers only harmless ones are kept', async () => {
  const { headers } = await described('{}', {
    ...json,
    authorization: 'Bearer secret',
    'x-goog-api-key': 'secret',
    cookie: 'a=b',
    'user-agent': 'me',
    accept: '*/*',
  })
  expect(headers).toEqual({ accept: '*/*', 'content-type': 'application/json' })
})

test.for([
  ['{"a":1,"b":[{"c":2}]}', '{"a":1,"b":[{"c":3}]}', ['b[0].c']],
  ['{"a":1}', '{"a":1,"x":null}', ['x']],
  ['{"a":[1]}', '{"a":[1,2]}', ['a']],
  ['{"a":1}', '[1]', ['body']],
  ['{"a":1}', '', ['body']],
  ['{"a":1}', '{"a":1}', []],
] as const)('%s and %s differ in %j', async ([one, other, expected]) => {
  expect(differences(await described(one), await described(other))).toEqual(expected)
})

test('paths, queries and forms differ by name', async () => {
  const one = await described('{}', json, '/v1/a?x=1')
  expect(differences(one, await described('{}', json, '/v1/b?x=2'))).toEqual(['path', 'query'])
  const [form1, form2] = [
    await form('a', ['n', '1'], ['prompt', 'x']),
    await form('b', ['n', '2'], ['prompt', 'x']),
  ]
  expect(differences(form1, form2)).toEqual(['n'])
})
