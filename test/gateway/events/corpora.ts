import type { Outcome } from './outcome.ts'

/** A small reply, and what a reader must make of it however it is cut. */
export interface Corpus extends Outcome {
  readonly name: string
  readonly bytes: Buffer
}

const one = { a: 1 }
const two = { b: '2' }

const corpus = (name: string, bytes: string | Buffer, ...messages: unknown[]): Corpus => ({
  name,
  bytes: Buffer.from(bytes as string),
  messages,
  done: false,
  error: undefined,
})
const done = (name: string, bytes: string, ...messages: unknown[]): Corpus => ({
  ...corpus(name, bytes, ...messages),
  done: true,
})
const failed = (name: string, error: string, bytes: string | Buffer, ...messages: unknown[]): Corpus => ({
  ...corpus(name, bytes, ...messages),
  error,
})

const line = 'data: {"a":1}'
const next = 'data: {"b":"2"}'

/**
 * Framings and quirks of the replies that gateways and relays were seen to send (wire notes), and their ends. What the
 * standard says of event streams, and JSON in any arrangement: the fuzz targets `same-events` and `json-values`.
 */
export const corpora: readonly Corpus[] = [
  corpus('LF', `${line}\n\n${next}\n\n`, one, two),
  corpus('LF and CRLF mixed', `${line}\n\r\n${next}\r\n\n`, one, two),
  corpus('CR and LF mixed', `${line}\r\n\r${next}\n\r\r\n`, one, two),
  corpus('a byte order mark', `\uFEFF${line}\n\n${next}\n\n`, one, two),
  corpus('a byte order mark before JSON', '\uFEFF {"a":1}', one),
  corpus('data over several lines', 'data: {"a":\ndata: 1}\n\n', one),
  corpus(
    'event names of the prototype',
    `event: __proto__\n${line}\n\nevent:constructor\n${next}\n\n`,
    one,
    two,
  ),
  corpus(
    'a comment passed on as data',
    `data: : OPENROUTER PROCESSING\n\n${line}\n\ndata:\n\n${next}\n\n`,
    one,
    two,
  ),
  done('DONE', `${line}\n\ndata: [DONE]\n\n`, one),
  done('DONE without its blank line', `${line}\r\n\r\ndata: [DONE]`, one),
  done('data after DONE', `${line}\n\ndata:[DONE]\n\n${next}\n\nnonsense\n\ndata: {"c`, one),
  failed('DONE with a tail', 'reply_not_understood', `${line}\n\ndata: [DONE]x\n\n${next}\n\n`, one),
  corpus('no blank line after the last event', `${line}\n\n${next}\n`, one, two),
  corpus('no line ending after the last event', `${line}\r\n\r\n${next}`, one, two),
  corpus('an end in the middle of CRLF', `${line}\r\n\r\n${next}\r`, one, two),
  corpus('a JSON object', '{"a":1}', one),
  corpus('pretty JSON', '{\n  "a": [\n    {},\n    "}]\\"{"\n  ]\n}\n', { a: [{}, '}]"{'] }),
  corpus('an array of objects', '[{"a":1}\n,\n{"b":"2"}]', one, two),
  corpus('a pretty array', '[\r\n  {\r\n    "a": 1\r\n  },\r\n  {"b":"2"}\r\n]\r\n', one, two),
  corpus('an empty array', ' [ ]'),
  corpus('a value on each line', '{"a":1}\n{"b":"2"}\n', one, two),
  corpus('bare JSON after events', `${line}\n\n{"b":"2"}\n`, one, two),
  corpus('bare pretty JSON after events', `${line}\r\n\r\n{\r\n  "b": "2"\r\n}\r\n`, one, two),
  corpus('bare JSON without a line ending', `${line}\n\n{\n "b":"2"}`, one, two),
  corpus('a bare array after events', `${line}\n\n[\n{"b":"2"}\n]\n`, one, two),
  corpus('bare text after events', `${line}\n\nupstream went away\n`, one),
  corpus('one message over two events', 'data: {"a"\n\ndata: :1}\n\n', one),
  corpus('one message over two events with a comment between', 'data: {"a":\n\n: PING\n\ndata: 1}\n\n', one),
  corpus('one message over three events', 'data: {"b"\n\ndata: :\n\ndata: "2"}\n\n', two),
  corpus('line separators of Unicode', 'data: {"a":"\u2028\u2029\u0085"}\n\n', {
    a: '\u2028\u2029\u0085',
  }),
  corpus('characters of two to four bytes', 'data: {"é":"€😀"}\n\ndata: "ü"\n\n', { é: '€😀' }, 'ü'),
  corpus('characters of four bytes in bare JSON', '[{"😀":"𝄞"}]', { '😀': '𝄞' }),
  corpus('halves of a surrogate pair', 'data: "\\ud83d"\n\ndata: "\\ude00"\n\n', '\ud83d', '\ude00'),
  corpus('bytes that are not UTF-8', Buffer.from('data: "\xff\xc3("\n\n', 'latin1'), '\uFFFD\uFFFD('),
  corpus('messages of every kind', 'data: null\n\ndata: 42\n\ndata: []\n\ndata: ""\n\n', null, 42, [], ''),
  corpus('keys of the prototype', 'data: {"__proto__":{"a":1}}\n\n', JSON.parse('{"__proto__":{"a":1}}')),
  corpus('nothing', ''),
  corpus('only blanks', ' \r\n\n '),
  corpus('only comments', ': PING\n\n: PING\n\n'),
  failed('DONE with a tail at the end', 'reply_not_understood', `${line}\n\ndata: [DONE]x\n\n`, one),
  failed('malformed JSON at the end', 'reply_not_understood', `${line}\n\ndata: {"b":oops}\n\n`, one),
  failed('HTML', 'reply_not_understood', '<!DOCTYPE html><title>Bad gateway</title><p>x'),
  failed('HTML after blanks', 'reply_not_understood', '\r\n <html><head></head></html>'),
  failed('malformed JSON', 'reply_not_understood', `${line}\n\ndata: {"b":oops}\n\n${next}\n\n`, one),
  failed('malformed JSON without framing', 'reply_not_understood', '{"a":1}{"b":oops}', one),
  failed('text after JSON', 'reply_not_understood', '{"a":1} and so on', one),
  failed('plain text as data', 'generation_failed', `${line}\n\ndata: upstream error\n\n${next}\n\n`, one),
  failed('an end in the middle of an event', 'connection_lost', `${line}\n\ndata: {"b":"`, one),
  failed('an end after half a message', 'connection_lost', `${line}\n\ndata: {"b":"\n\n`, one),
  failed(
    'an end in the middle of a character',
    'connection_lost',
    Buffer.from('data: "\xf0\x9f\x98', 'latin1'),
  ),
  failed('an end in the middle of JSON', 'connection_lost', '[{"a":1},{"b":', one),
  failed('an end in the middle of bare JSON', 'connection_lost', `${line}\n\n{\n "b":`, one),
]
