import type { ReadReply } from './read-reply.ts'

/** A small reply, and what must be made of it however it is cut. */
export interface Corpus {
  readonly name: string
  readonly bytes: Buffer
  readonly expected: Partial<ReadReply>
}

const base64 = (text: string) => Buffer.from(text).toString('base64')
/** `one` and `second!` as base64: without and with padding. */
const one = base64('one')
const second = base64('second!')
const hex = (text: string) => Buffer.from(text).toString('hex').match(/../g)!.join('%')

const corpus = (name: string, text: string, expected: Partial<ReadReply>): Corpus => ({
  name,
  bytes: Buffer.from(text),
  expected: { error: undefined, done: false, urls: [], ...expected },
})
const json = (name: string, value: unknown, expected: Partial<ReadReply>) =>
  corpus(name, JSON.stringify(value), expected)
/** A reply with these results. */
const data = (name: string, results: readonly unknown[], expected: Partial<ReadReply>) =>
  json(name, { data: results }, expected)
const event = (value: object, name?: string) =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(value)}\n\n`

const image = (index: number, revised_prompt: string | null = null) => ({ index, revised_prompt })
/** These pictures came whole, and are the images in their order. */
const pictures = (...contents: string[]): Partial<ReadReply> => ({
  pictures: contents.map((content, index) => `${index}: done ${content}`),
  images: contents.map((_, index) => image(index)),
})
const isOne = pictures('one')
const revised = (prompt: string) => ({ ...isOne, images: [image(0, prompt)] })
const at = (url: string): Partial<ReadReply> => ({
  pictures: [],
  urls: [{ index: 0, url }],
  images: [image(0)],
})
const failed = (error: string) => ({ error, images: [] })

const partial = { type: 'image_generation.partial_image', b64_json: base64('p'), partial_image_index: 0 }
const completed = {
  type: 'image_generation.completed',
  b64_json: one,
  created_at: 7,
  usage: { total_tokens: 5 },
}
const previewed = { pictures: ['0/0: done p', '0: done one'], images: [image(0)] }
const full = {
  created: 1781048029,
  background: 'opaque',
  usage: { total_tokens: 3, input_tokens_details: { image_tokens: 0 } },
}
const elsewhere = { meta: { data: [{ b64_json: 'no', url: 'data:no' }] } }
const inside = `{"b64_json":"${second}","url":"data:"}`

/** Replies that gateways and relays were seen to send (wire notes, section 4, quirks 10 and 14 to 17), and hostile ones. */
export const corpora: readonly Corpus[] = [
  json(
    'base64 with everything around it',
    { ...full, data: [{ b64_json: one }, { b64_json: second, revised_prompt: 'é "}]{[\\' }] },
    {
      pictures: ['0: done one', '1: done second!'],
      images: [image(0), image(1, 'é "}]{[\\')],
      usage: full.usage,
      results: [{ ...full, data: [{ b64_json: null }, { b64_json: null, revised_prompt: 'é "}]{[\\' }] }],
    },
  ),
  corpus(
    'pretty JSON',
    `\uFEFF\r\n{\n  "data" : [\n    {\n      "b64_json" : "${one}"\n    }\n  ]\n}\n`,
    isOne,
  ),
  data(
    'an absolute URL',
    [{ url: 'https://cdn.test/a.png?sig=a%2Fb' }],
    at('https://cdn.test/a.png?sig=a%2Fb'),
  ),
  data('a relative URL and no base64', [{ url: '/files/a.png', b64_json: null }], at('/files/a.png')),
  corpus('an escaped URL', '{"data":[{"url":"\\u0064at"}]}', at('dat')),
  data('empty base64 and a URL', [{ b64_json: '', url: 'https://cdn.test/a' }], at('https://cdn.test/a')),
  data('both base64 and a URL', [{ url: 'https://cdn.test/a.png', b64_json: one }], isOne),
  data('base64 that is a data URL', [{ b64_json: `data:image/png;base64,${one}` }], isOne),
  data('a URL that is a data URL', [{ url: `data:image/png;base64,${one}`, revised_prompt: 'r' }], {
    ...revised('r'),
    results: [{ data: [{ url: null, revised_prompt: 'r' }] }],
  }),
  data('a data URL with escapes', [{ b64_json: `data:image/png;base64,%${hex(one)}` }], isOne),
  data('two data URLs for one image', [{ url: `DATA:;base64,${one}`, b64_json: second }], isOne),
  data('a data URL that is not base64', [{ url: 'data:image/svg+xml,<svg/>' }], failed('damaged_media')),
  data('neither base64 nor a URL', [{ revised_prompt: 'x' }, { b64_json: one }], {
    pictures: ['1: done one'],
    images: [image(1)],
    error: 'reply_not_understood',
  }),
  data('broken base64 beside a whole image', [{ b64_json: 'A*==' }, { b64_json: one }], {
    pictures: ['1: done one'],
    images: [image(1)],
    error: 'damaged_media',
  }),
  data('base64 of another type', [{ b64_json: 5, url: '' }], failed('reply_not_understood')),
  data('an item that is none', [null, 'x', [one]], failed('reply_not_understood')),
  data('an error in place of an image', [{ error: { message: 'no', code: 'blocked' } }], failed('blocked')),
  json('no images', { created: 1, data: [] }, { images: [], results: [{ created: 1, data: [] }] }),
  json('images that are null', { data: null }, { images: [], results: [{ data: null }] }),
  json('an error object', { error: { message: 'blocked', code: 'moderation' } }, failed('moderation')),
  json('an error that is text', { error: 'no' }, failed('error_in_reply')),
  json('a flat error', { code: 'task_not_exist', message: 'no', data: null }, failed('task_not_exist')),
  corpus('an error in an array', '[{"error":{"code":429,"message":"m","status":"BUSY"}}]', failed('busy')),
  corpus(
    'slashes escaped as PHP does',
    `{"data":[{"b64_json":"data:image\\/png;base64,${base64('a?~')}\\/\\/\\/\\/"}]}`,
    pictures('a?~\xff\xff\xff'),
  ),
  corpus(
    'escapes as .NET writes them',
    '{"data":[{"b64_json":"\\u002B\\u002b++\\u002f\\u003d\\u003D\\u003d"}]}',
    failed('damaged_media'),
  ),
  corpus(
    'padding as .NET writes it',
    '{"data":[{"b64_json":"b25l\\u002B\\u002b\\u003D\\u003d\\n"}]}',
    pictures('one\xfb'),
  ),
  corpus('white space, raw and escaped', `{"data":[{"b64_json":" b2\\n5\nl\\t "}]}`, isOne),
  corpus('an escaped quote in base64', '{"data":[{"b64_json":"b2\\"5l\\\\"}]}', failed('damaged_media')),
  corpus('escaped keys', `{"d\\u0061ta":[{"b64\\u005fjson":"${one}"}]}`, isOne),
  corpus('a field named twice', `{"data":[{"b64_json":"${one}","b64_json":"${second}"}]}`, isOne),
  corpus('data named twice', `{"data":[{"b64_json":"${one}"}],"data":[{"b64_json":"${second}"}]}`, isOne),
  json(
    'fields of these names elsewhere',
    { ...elsewhere, data: [{ x: { b64_json: 'no' }, y: [{ url: 'data:' }], b64_json: one }] },
    {
      ...isOne,
      results: [{ ...elsewhere, data: [{ x: { b64_json: 'no' }, y: [{ url: 'data:' }], b64_json: null }] }],
    },
  ),
  json(
    'a text that looks like base64 in a field',
    { a: '"b64_json":"', data: [{ prompt: '"url":"data:', b64_json: one }] },
    isOne,
  ),
  json(
    'long base64 in fields of text',
    { data: [{ b64_json: one, revised_prompt: 'A'.repeat(300) }], url: 'B'.repeat(200) },
    revised('A'.repeat(300)),
  ),
  data('an image in JSON within a text', [{ revised_prompt: inside, b64_json: one }], revised(inside)),
  corpus(
    'numbers of every size',
    `{"a":[1e999,-0.5E-7,123456789012345678901],"data":[{"b64_json":"${one}"}]}`,
    isOne,
  ),
  corpus(
    'keys of the prototype',
    `{"__proto__":{"b64_json":"x"},"data":[{"__proto__":1,"b64_json":"${one}"}]}`,
    isOne,
  ),
  corpus('what is not JSON around an image', `{"data":[{"b64_json":"${one}" oops}]}`, {
    pictures: ['0: done one'],
    error: 'reply_not_understood',
  }),
  corpus('text after JSON', '{"data":[]} and so on', { error: 'reply_not_understood' }),
  corpus('HTML', '<!DOCTYPE html><title>Bad gateway</title>', failed('reply_not_understood')),
  corpus('nothing', ' \r\n', { images: [], results: [] }),
  corpus(
    'a stream',
    event(partial, 'image_generation.partial_image') + event(completed, 'image_generation.completed'),
    { ...previewed, results: [{ ...completed, b64_json: null }], usage: { total_tokens: 5 } },
  ),
  corpus(
    'a stream of an edit with DONE',
    `: ping\n\n${event({ ...completed, type: 'image_edit.completed' })}data: [DONE]\n\ndata: {"oops`,
    { ...isOne, done: true },
  ),
  corpus('two images in a stream', event(partial) + event(completed) + event(partial) + event(completed), {
    pictures: ['0/0: done p', '0: done one', '1/0: done p', '1: done one'],
    images: [image(0), image(1)],
  }),
  corpus(
    'types after the images',
    event({ b64_json: base64('p'), type: partial.type }) + event({ b64_json: one, type: completed.type }),
    previewed,
  ),
  corpus(
    'types in event lines only',
    `${event({ b64_json: base64('p') }, partial.type)}${event({ b64_json: one }, completed.type)}`,
    previewed,
  ),
  corpus(
    'partial images with numbers of their own',
    event({ type: partial.type, partial_image_index: 2, b64_json: one }),
    { pictures: ['0/2: done one'], images: [] },
  ),
  corpus('an event with a URL', event({ type: completed.type, url: '/a.png' }), at('/a.png')),
  corpus('an event with nothing', event({ type: completed.type }), failed('reply_not_understood')),
  corpus(
    'the published example',
    event({ type: partial.type, b64_json: '...' }) + event({ type: completed.type, b64_json: '...' }),
    failed('damaged_media'),
  ),
  corpus('a broken partial image', event({ ...partial, b64_json: 'A***' }) + event(completed), {
    images: [image(0)],
  }),
  corpus('a whole reply as an event', event({ created: 1, data: [{ b64_json: one }] }), isOne),
  corpus(
    'events unknown',
    event({ type: 'keepalive', b64: 'x' }) + event({ type: 'x', url: null }) + event(completed),
    isOne,
  ),
  corpus(
    'an error event',
    event(partial) + event({ type: 'error', error: { code: 'moderation', message: 'm' } }),
    failed('moderation'),
  ),
  corpus('an error of the upstream', event({ message: 'm', code: 'e1' }, 'upstream_error'), failed('e1')),
  corpus(
    'an error with a type of its own',
    event({ type: 'overloaded', message: 'm', code: 'e1' }, 'error'),
    failed('e1'),
  ),
  corpus(
    'an error with a bare object',
    `${event(partial)}{\n  "error": {\n    "code": 499,\n    "status": "CANCELLED"\n  }\n}\n`,
    failed('cancelled'),
  ),
  corpus('a failure as text', `${event(partial)}data: upstream went away\n\n`, failed('generation_failed')),
  corpus(
    'an image over three events, with others between them',
    `data: {"type":"${completed.type}","b64_json":"b2\n\n: PING\n\ndata: : PING\n\nevent: x\nid: 7\ndata:5\n\ndata: l"}\n\n`,
    isOne,
  ),
  corpus(
    'an object over several lines',
    `data: {"type":\ndata: "${completed.type}",\ndata:"b64_json":\ndata: "${one}"}\n\n`,
    isOne,
  ),
  corpus('one object on each line', `${JSON.stringify(partial)}\n${JSON.stringify(completed)}\n`, previewed),
]
