import { appendFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { multipartBody, type FieldPart, type FilePart, fileChunks } from '../../src/gateway/multipart.ts'
import { hostileNames } from '../support/hostile-names.ts'
import { deaf, hear, hold, json, readHead, stall, text } from '../support/server-replies.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { outcomeOf, served, textRequest, until } from './test-gateway.ts'

type Part = FieldPart | FilePart

const file = (name: string, fileName: string, content: Uint8Array, mediaType = 'image/png'): FilePart => ({
  name,
  fileName,
  mediaType,
  size: content.length,
  open: () => [content],
})
/** A file on the disk, by its path. */
const onDisk = (path: string, size: number): FilePart => ({
  ...file('image', 'a.png', Buffer.alloc(0)),
  size,
  open: () => fileChunks(path),
})

async function bytesOf(parts: readonly Part[]) {
  const { body, contentType } = multipartBody(parts)
  const chunks: Uint8Array[] = []
  for await (const chunk of body.chunks()) chunks.push(Buffer.from(chunk))
  return { bytes: Buffer.concat(chunks), contentType, length: body.length }
}

/** What an independent parser finds in a body, in order. */
async function parse(bytes: Uint8Array, contentType: string): Promise<object[]> {
  const headers = { 'content-type': contentType }
  const form = await new Response(new Uint8Array(bytes), { headers }).formData()
  const found = [...form].map(async ([name, value]) => {
    if (typeof value === 'string') return { name, value }
    const content = Buffer.from(await value.arrayBuffer()).toString('latin1')
    return { name, fileName: value.name, mediaType: value.type, content }
  })
  return Promise.all(found)
}

/** A name as it can be read back: escaped as browsers do. */
const escaped = (name: string) => name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')

test('an independent parser reads back what went in, in order', async () => {
  const words = 'zwei\r\nZeilen\nund "é" 🐙 --boundary--'
  const { bytes, contentType, length } = await bytesOf([
    { name: 'model', value: 'image-model-a' },
    file('image[]', 'a.png', Buffer.from([0, 13, 10, 45, 45, 255])),
    { name: 'prompt', value: words },
    file('image[]', 'zwölf 🐙.jpg', Buffer.alloc(0), 'image/jpeg'),
    file('mask', 'mask.png', Buffer.from('\r\n--\r\n')),
    { name: 'n', value: '' },
  ])
  expect(bytes.length).toBe(length)
  expect(await parse(bytes, contentType)).toEqual([
    { name: 'model', value: 'image-model-a' },
    { name: 'image[]', fileName: 'a.png', mediaType: 'image/png', content: '\0\r\n--\xff' },
    { name: 'prompt', value: words },
    { name: 'image[]', fileName: 'zwölf 🐙.jpg', mediaType: 'image/jpeg', content: '' },
    { name: 'mask', fileName: 'mask.png', mediaType: 'image/png', content: '\r\n--\r\n' },
    { name: 'n', value: '' },
  ])
})

/** Names that would end a header or begin another one, and all that are hostile elsewhere. */
const names = [
  'a"b.png',
  'a\r\nb.png',
  'a\nContent-Type: text/html',
  'x"; filename="y',
  'a"\r\n\r\nbody',
  'a%0D%0Ab',
  "utf-8''x.png",
  'name*=utf-8',
  '--',
  ...hostileNames.filter((name) => name !== '' && name.isWellFormed()),
]

test.for(names)('the name %j stays a name', async (name) => {
  const { bytes, contentType } = await bytesOf([file(name, name, Buffer.from('x')), { name, value: 'y' }])
  const headers = bytes
    .toString()
    .split('\r\n')
    .filter((line) => /^content-/i.test(line))
  expect(headers).toHaveLength(3)
  const found = await parse(bytes, contentType)
  expect(found).toHaveLength(2)
  expect(headers[0]).toBe(
    `Content-Disposition: form-data; name="${escaped(name)}"; filename="${escaped(name)}"`,
  )
})

test.for(['image/png\r\nX-Evil: 1', 'text', '', 'image/png; name="x"', 'a b/c'])(
  'the media type %j is not sent',
  async (mediaType) => {
    const { bytes } = await bytesOf([file('image', 'a.png', Buffer.from('x'), mediaType)])
    expect(bytes.toString()).toContain('\r\nContent-Type: application/octet-stream\r\n\r\n')
  },
)

test('no two bodies have the same boundary, and every attempt sends the same bytes', async () => {
  const parts = [{ name: 'a', value: 'b' }]
  expect(multipartBody(parts).contentType).not.toBe(multipartBody(parts).contentType)
  const { server, gateway } = await served([json({}, { status: 503 }), text('ok')])
  const { body, contentType } = multipartBody([...parts, file('image', 'a.png', Buffer.from('picture'))])
  expect(await outcomeOf(gateway, textRequest(gateway, { kind: 'create', body, contentType }))).toBe('ok')
  const [first, second] = server.requests
  expect(first!.body.length).toBe(body.length)
  expect(first!.body).toEqual(second!.body)
  expect(await parse(first!.body, contentType)).toHaveLength(2)
})

test('files are opened one at a time, and only when it is their turn', async () => {
  const log: string[] = []
  const logged = (name: string): FilePart => ({
    ...file('image[]', name, Buffer.from('xx')),
    async *open() {
      log.push(`open ${name}`)
      yield Buffer.from('x')
      yield Buffer.from('x')
      log.push(`close ${name}`)
    },
  })
  const { body } = multipartBody([logged('a'), logged('b')])
  expect(log).toEqual([])
  for await (const _ of body.chunks());
  expect(log).toEqual(['open a', 'close a', 'open b', 'close b'])
})

test.for<[string, (path: string) => Promise<void>]>([
  ['grows', (path) => appendFile(path, 'more')],
  ['shrinks', (path) => writeFile(path, 'less')],
  ['is written anew', (path) => writeFile(path, Buffer.alloc(24 * 1_048_576, 'y'))],
])('a file that %s while it is sent: nothing whole is sent, and not again', async ([, change]) => {
  const path = join(temporaryFolder(), 'picture.png')
  const bytes = 24 * 1_048_576
  await writeFile(path, Buffer.alloc(bytes, 'x'))
  const changed = Promise.withResolvers<void>()
  const { server, gateway } = await served([[readHead, deaf, hold(changed.promise), hear, stall]])
  const { body, contentType } = multipartBody([onDisk(path, bytes)])
  const outcome = outcomeOf(gateway, textRequest(gateway, { kind: 'create', body, contentType }))
  await until(() => server.requests.length > 0)
  await change(path)
  changed.resolve()
  expect(await outcome).toMatchObject({ exitCode: 10, code: 'source_changed', facts: { billed: 'no' } })
  expect(gateway.retries).toEqual([])
  expect(server.requests[0]!.body.length).toBeLessThan(body.length)
})

test.for([
  ['more', ['xx', 'x']],
  ['less', ['x']],
] as const)('a part that gives %s than it said', async ([, chunks]) => {
  const open = () => chunks.map((chunk) => Buffer.from(chunk))
  const refused = bytesOf([{ ...file('image', 'a.png', Buffer.from('xx')), open }])
  await expect(refused).rejects.toMatchObject({ exitCode: 10, code: 'source_changed' })
})

/** Long enough for the sender to fill every buffer between here and there. */
async function manyTurns(): Promise<void> {
  for (let turn = 0; turn < 500; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test('a large file arrives as it is, however slowly it is taken', async () => {
  const path = join(temporaryFolder(), 'picture.png')
  const content = Buffer.alloc(5 * 1_048_576 + 12_345)
  for (let at = 0; at < content.length; at += 4)
    content.writeUInt32BE((at * 2_654_435_761) >>> 0, Math.min(at, content.length - 4))
  await writeFile(path, content)
  const { server, gateway } = await served([[readHead, deaf, hold(manyTurns()), hear, ...text('ok')]])
  const { body, contentType } = multipartBody([onDisk(path, content.length), onDisk(path, content.length)])
  expect(await outcomeOf(gateway, textRequest(gateway, { kind: 'create', body, contentType }))).toBe('ok')
  const found = (await parse(server.requests[0]!.body, contentType)) as { content: string }[]
  expect(found.map((part) => Buffer.from(part.content, 'latin1').equals(content))).toEqual([true, true])
})

test('a file that cannot be read is named', async () => {
  const missing = onDisk(join(temporaryFolder(), 'missing.png'), 1)
  await expect(bytesOf([missing])).rejects.toMatchObject({ code: 'not_found' })
})
