import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { hostileValue, prototypes } from '../hostile-values.ts'
import { readReply } from './read-reply.ts'
import { corpora } from './replies.ts'

const pictureBytes = fc.uint8Array({ minLength: 1, maxLength: 40 }).map((bytes) => Buffer.from(bytes))

interface Item {
  readonly bytes: Buffer
  readonly before: unknown
  readonly after: unknown
}

const items = fc.array(fc.record({ bytes: pictureBytes, before: hostileValue, after: hostileValue }), {
  minLength: 1,
  maxLength: 4,
})

/** A JSON literal of a text, some of its characters escaped as any encoder may. */
const literal = (text: string, escaped: readonly boolean[]) =>
  `"${[...text].map((letter, at) => (escaped[at % escaped.length] ? `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}` : letter)).join('')}"`

function replyText(
  list: readonly Item[],
  outer: unknown,
  escaped: readonly boolean[],
  indent: number,
): string {
  const entries = list.map(({ bytes, before, after }) => {
    const around = (value: unknown) => JSON.stringify(value, null, indent)
    return `{"x":${around(before)},"b64_json" :${literal(bytes.toString('base64'), escaped)},"y":${around(after)}}`
  })
  return `{"outer":${JSON.stringify(outer, null, indent)},"data":[ ${entries.join(' , ')} ],"z":0}`
}

test('takes the images and nothing else out of any reply', async () => {
  const before = prototypes()
  await fc.assert(
    fc.asyncProperty(
      items,
      hostileValue,
      fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
      fc.constantFrom(0, 2),
      fc.integer({ min: 1, max: 40 }),
      async (list, outer, escaped, indent, size) => {
        const bytes = Buffer.from(replyText(list, outer, escaped, indent))
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
          bytes.subarray(at * size, (at + 1) * size),
        )
        const read = await readReply(pieces)
        expect(read.error).toBeUndefined()
        expect(read.pictures).toEqual(
          list.map(({ bytes: picture }, at) => `${at}: done ${picture.toString('latin1')}`.trim()),
        )
        const expected = JSON.parse(bytes.toString()) as { data: { b64_json: unknown }[] }
        for (const item of expected.data) item.b64_json = null
        expect(read.results).toEqual([expected])
      },
    ),
    { numRuns: 1_500 },
  )
  expect(prototypes()).toEqual(before)
})

test('survives any bytes', async () => {
  const token = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\',
    '\n',
    '\r',
    ' ',
    'data:',
    'data: ',
    'event: error\n',
    '[DONE]',
    '"data":[',
    '"b64_json":"',
    '"url":"data:',
    ';base64,',
    'AAAA',
    '=',
    '"error":',
    'null',
    '1e9',
    '\\u00',
    'é',
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(token, { maxLength: 30 }),
      fc.integer({ min: 1, max: 9 }),
      async (tokens, size) => {
        const bytes = Buffer.from(tokens.join(''))
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
          bytes.subarray(at * size, (at + 1) * size),
        )
        const read = await readReply(pieces)
        // An image is either whole or given up; and the cutting does not matter.
        expect(read.pictures.every((picture) => /: (done|kept|dropped)/.test(picture))).toBe(true)
        expect(await readReply([bytes])).toEqual(read)
      },
    ),
    { numRuns: 5_000 },
  )
})

const whole = corpora.filter(({ expected }) => expected.error === undefined)

test.for(whole)('is told from its beginning alone: $name', async ({ bytes }) => {
  const all = await readReply([bytes])
  for (let length = 0; length < bytes.length; length++) {
    const cut = await readReply([bytes.subarray(0, length)])
    // What came whole stays; an image that was cut is never passed off as one.
    const done = (pictures: readonly string[]) => pictures.filter((picture) => picture.includes(': done'))
    expect(done(all.pictures).slice(0, done(cut.pictures).length)).toEqual(done(cut.pictures))
    expect(cut.images).toEqual(all.images.slice(0, cut.images.length))
    if (cut.error === undefined && cut.images.length === all.images.length) continue
    expect(['stream_truncated', 'html_reply', 'stream_error', 'bad_base64', undefined]).toContain(cut.error)
  }
})

test.for([
  ['nesting without end', `{"a":${'['.repeat(600)}`, 'reply_too_deep'],
  ['a text without end', `{"a":"${'x'.repeat(33 * 1_048_576)}`, 'message_too_large'],
  ['more images than anybody asks for', `{"data":[${'{"b64_json":"AAAA"},'.repeat(1100)}{}]}`, 'bad_index'],
] as const)('stops at %s', async ([, text, code]) => {
  expect(await readReply([Buffer.from(text)])).toMatchObject({ error: code })
})

test('drops an image of which the end did not come', async () => {
  const text = `{"data":[{"b64_json":"${'A'.repeat(600_000)}`
  expect(await readReply([Buffer.from(text)])).toMatchObject({
    pictures: ['0: dropped'],
    error: 'stream_truncated',
  })
})
