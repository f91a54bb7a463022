import { expect, test } from 'vitest'
import { canaryKey, expectNoKey, expectNoKeyBelow } from '../support/canary-key.ts'
import { localServer } from '../support/local-server.ts'
import { end, json, readAll, sse, text, write, type ServerReply } from '../support/server-replies.ts'
import { startProgram } from './start-program.ts'
import { textStyles, type TextStyle } from './text-styles.ts'

const event = (value: object) => `data: ${JSON.stringify(value)}\n\n`
const page = (title: string) => `<html><title>${title}</title></html>`
const tool = {
  generate: (key: string) => ({
    candidates: [
      { content: { parts: [{ functionCall: { name: 'f', args: { key } } }] }, finishReason: 'STOP' },
    ],
  }),
  respond: (key: string) => ({
    object: 'response',
    status: 'completed',
    output: [{ type: 'function_call', name: 'f', call_id: 'c', arguments: JSON.stringify({ key }) }],
  }),
}
const finish = {
  generate: (reason: string) => ({
    candidates: [{ finishReason: reason, content: { parts: [{ text: 'a' }] } }],
  }),
  respond: (reason: string) => ({
    object: 'response',
    status: 'incomplete',
    incomplete_details: { reason },
    output: [],
  }),
}

/** All that a gateway can say besides the model's words; `bearer` is what the program sent as `authorization`. */
const echoes: readonly [string, (style: TextStyle, key: string, bearer: string) => ServerReply][] = [
  [
    'an error message',
    ({ error }, key) => json(error(401, 'BAD', `Incorrect API key: ${key}.`), { status: 401 }),
  ],
  [
    'an error message, in base64',
    ({ error }, _, bearer) =>
      json(error(400, 'BAD', `Sent: ${Buffer.from(bearer).toString('base64')}`), { status: 400 }),
  ],
  [
    'an error message, in percent-encoding',
    ({ error }, key) =>
      json(error(400, 'BAD', `At https://host/?key=${encodeURIComponent(key)}`), { status: 400 }),
  ],
  ['an error code', ({ error }, key) => json(error(403, key, 'No.'), { status: 403 })],
  [
    'an error that is no JSON',
    (_, __, bearer) => text(`authorization: ${bearer}\r\nhost: h`, { status: 404 }),
  ],
  ['an error message that is cut', (_, key) => text(`${'x'.repeat(400 - 30)}${key}`, { status: 404 })],
  ['the title of a page', (_, key) => text(page(key), { status: 404 })],
  ['the title of a page that is cut', (_, key) => text(page(`${'x'.repeat(200 - 30)}${key}`))],
  [
    'a redirect',
    (_, key) => text('', { status: 307, headers: { location: `https://u:${key}@h.invalid/${key}` } }),
  ],
  [
    'a redirect to a host of that name',
    (_, key) =>
      text('', { status: 307, headers: { location: `https://${key.replaceAll(/\W/g, '')}.invalid/` } }),
  ],
  ['the request id', (_, key) => text('No.', { status: 404, headers: { 'x-request-id': key } })],
  ['the content encoding', (_, __, bearer) => text('', { headers: { 'content-encoding': bearer } })],
  ['the content type', (_, __, bearer) => text('No.', { status: 404, headers: { 'content-type': bearer } })],
  ['the wait', (_, key) => text('No.', { status: 404, headers: { 'retry-after': key } })],
  ['the status line', (_, key) => [readAll, write(`HTTP/1.1 404 ${key}\r\ncontent-length: 0\r\n\r\n`), end]],
]

/** The same inside the reply itself, which --json, --jsonl and --raw print as the gateway sent it. */
const echoesInReply: typeof echoes = [
  [
    'an error event',
    ({ delta, name }, key) =>
      sse([delta('Hel'), event(textStyles[name].error(500, key, `Sent: ${key}`) as object)]),
  ],
  ['plain words in the stream', (_, __, bearer) => sse([`data: upstream got ${bearer}\n\n`])],
  ['plain words in the stream that are cut', (_, key) => sse([`data: ${'x'.repeat(400 - 30)}${key}\n\n`])],
  ['the reason of the end', ({ name }, key) => json(finish[name](key))],
  ['the reason of the end, cut', ({ name }, key) => json(finish[name](`${'X'.repeat(80 - 30)}${key}`))],
  ['a tool call', ({ name }, key) => json(tool[name](key))],
]

const plain = [[], ['--debug'], ['-o', 'answer.txt', '--usage']]
const documents = [['--json'], ['--jsonl'], ['--raw']]

const cases = Object.values(textStyles).flatMap((style) =>
  [...echoes, ...echoesInReply].flatMap(([name, reply]) =>
    [...plain, ...documents].map((mode) => ({ style, name, reply, mode })),
  ),
)

test.each(cases)(
  '$style.name $mode with a gateway that gives back the key as $name',
  async ({ style, reply, mode }) => {
    const key = canaryKey()
    const server = await localServer([reply(style, key, `Bearer ${key}`)])
    const argv = [style.name, '-m', 'some-model', '--base-url', server.url, 'Say hello.', ...mode]
    const { context, exitCode, home } = startProgram(argv, { env: { MODELGATE_API_KEY: key } })
    await exitCode
    expect(server.requests[0]!.headers['authorization']).toBe(`Bearer ${key}`)
    expectNoKey('standard error', context.stderr.bytes, key)
    expectNoKey('standard output', context.stdout.bytes, key)
    expectNoKeyBelow(home, key)
  },
)
