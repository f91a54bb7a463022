import { expect, test } from 'vitest'
import { describeRequest, differences, keyOf } from '../../../src/sandbox/recording/recorded-request.ts'

const json = { 'content-type': 'application/json' }
const binary = { 'content-type': 'application/octet-stream' }

function described(body: string | Uint8Array, headers: object = json, path = '/v1/responses') {
  const [plain, query] = path.split('?')
  const sent = { path: plain!, query: new URLSearchParams(query), headers: { ...headers } }
  return describeRequest('POST', sent, Buffer.from(body as string))
}

function form(boundary: string, ...parts: (readonly [name: string, value: string, file?: string])[]) {
  const lines = parts.map(([name, value, file]) => {
    const fileName = file === undefined ? '' : `; filename="${file}"\r\nContent-Type: image/png`
    return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${fileName}\r\n\r\n${value}\r\n`
  })
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
  return described(`${lines.join('')}--${boundary}--\r\n`, headers, '/v1/images/edits')
}

const spaced = '{ "input": [ {"content": "hi", "role": "user"} ],\n "model": "m" }'
const unspaced = described('{"model":"m","input":[{"role":"user","content":"hi"}]}')
const asked = (path: string) => described('{}', json, path)
const filesOf = (a: string, b: string) => form('aaaa', ['image[]', a, 'a'], ['image[]', b, 'b'])
const sameImage = form('bbbb', ['image', 'PNG bytes', 'b.png'], ['prompt', 'A dog'])
const image = form('aaaa', ['prompt', 'A dog'], ['image', 'PNG bytes', 'a.png'])

test.for([
  ['white space and order', true, unspaced, described(spaced)],
  ['a value', false, described(spaced.replace('hi', 'ho')), described(spaced)],
  ['the order of a list', false, described('[1,2]'), described('[2,1]')],
  ['the order of the query, and a key', true, asked('/v1/x?b=2&a=1&key=AIza'), asked('/v1/x?a=1&b=2')],
  ['the query', false, asked('/v1/x?b=2&a=2'), asked('/v1/x?a=1&b=2')],
  ['the order of a form, its boundary and file names', true, image, sameImage],
  ['a byte of a file', false, image, form('aaaa', ['prompt', 'A dog'], ['image', 'PNG bytez', 'a.png'])],
  ['a field of a form', false, image, form('aaaa', ['prompt', 'A cat'], ['image', 'PNG bytes', 'a.png'])],
  ['the order of two files', false, filesOf('one', 'two'), filesOf('two', 'one')],
  ['other bytes', false, described('abc', binary), described('abd', binary)],
  ['the same bytes', true, described('abc', binary), described('abc', binary)],
] as const)('%s: whether that is the same request: %s', ([, isSame, one, other]) => {
  expect(keyOf(one) === keyOf(other)).toBe(isSame)
})

test('a request is kept without keys, and by digest where it is long or no text', () => {
  const long = described(JSON.stringify({ text: 'short', image_url: 'a'.repeat(5000) }))
  expect(long.body).toEqual({
    json: { image_url: expect.stringMatching(/^sha256:[\da-f]{64} \(5000 characters\)$/), text: 'short' },
  })
  const sha256 = '9698103cd397cda6f9807a2e2bf51935727f47a62d9b6d4f82e54ef60c6ba831'
  expect(image.body).toEqual({
    form: [
      { name: 'image', sha256, bytes: 9 },
      { name: 'prompt', value: 'A dog' },
    ],
  })
  expect(described('abc', binary).body).toEqual({
    sha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    bytes: 3,
  })
  const secret = { authorization: 'Bearer secret', 'x-goog-api-key': 'secret', cookie: 'a=b', accept: '*/*' }
  const { headers, path } = described('{}', { ...json, ...secret }, '/v1/x?b=2&alt=sse&key=AIza-secret')
  expect([headers, path]).toEqual([{ accept: '*/*', ...json }, '/v1/x?alt=sse&b=2'])
})

test.for([
  ['too deep', '['.repeat(100_000), json],
  ['deep and whole', '['.repeat(5000) + ']'.repeat(5000), json],
  ['cut', '{"a":', json],
  ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]), json],
  ['no form', 'no form at all', { 'content-type': 'multipart/form-data; boundary=x' }],
  ['a form without a boundary', '----', { 'content-type': 'multipart/form-data' }],
] as const)('a hostile body is only its digest: %s', ([, body, headers]) => {
  expect(described(body, headers).body).toMatchObject({ sha256: expect.any(String) })
})

test.for([
  ['{"a":1,"b":[{"c":2}]}', '{"a":1,"b":[{"c":3}]}', ['b[0].c']],
  ['{"a":1}', '{"a":1,"x":null}', ['x']],
  ['{"a":[1]}', '{"a":[1,2]}', ['a']],
  ['{"a":1}', '[1]', ['body']],
  ['{"a":1}', '', ['body']],
  ['{"a":1}', '{"a":1}', []],
] as const)('%s and %s differ in %j', ([one, other, expected]) => {
  expect(differences(described(one), described(other))).toEqual(expected)
})

test('paths, queries and forms differ by name', () => {
  expect(differences(asked('/v1/a?x=1'), asked('/v1/b?x=2'))).toEqual(['path', 'query'])
  const other = form('b', ['image', 'PNG bytes', 'a.png'], ['prompt', 'A cat'])
  expect(differences(image, other)).toEqual(['prompt'])
})
