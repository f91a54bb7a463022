import { expect, test } from 'vitest'
import { canaryKey, expectNoKey, expectNoKeyBelow } from '../support/canary-key.ts'
import { localServer } from '../support/local-server.ts'
import { end, readAll, sse, text, write, type ServerReply } from '../support/server-replies.ts'
import { startProgram } from './start-program.ts'

const page = (title: string) => `<html><title>${title}</title></html>`

/** Places where a gateway may give the key back, besides those of `echo-gateway.ts`; `bearer` is what the program sent as `authorization`. */
const echoes: readonly [string, (key: string, bearer: string) => ServerReply][] = [
  ['an error that is no JSON', (_, bearer) => text(`authorization: ${bearer}\r\nhost: h`, { status: 404 })],
  ['an error message that is cut', (key) => text(`${'x'.repeat(400 - 30)}${key}`, { status: 404 })],
  ['the title of a page', (key) => text(page(key), { status: 404 })],
  ['the title of a page that is cut', (key) => text(page(`${'x'.repeat(200 - 30)}${key}`))],
  [
    'a redirect',
    (key) => text('', { status: 307, headers: { location: `https://u:${key}@h.invalid/${key}` } }),
  ],
  [
    'a redirect to a host of that name',
    (key) =>
      text('', { status: 307, headers: { location: `https://${key.replaceAll(/\W/g, '')}.invalid/` } }),
  ],
  ['the content encoding', (_, bearer) => text('', { headers: { 'content-encoding': bearer } })],
  ['the content type', (_, bearer) => text('No.', { status: 404, headers: { 'content-type': bearer } })],
  ['the wait', (key) => text('No.', { status: 404, headers: { 'retry-after': key } })],
  ['the status line', (key) => [readAll, write(`HTTP/1.1 404 ${key}\r\ncontent-length: 0\r\n\r\n`), end]],
  ['plain words in the stream', (_, bearer) => sse([`data: upstream got ${bearer}\n\n`])],
  ['plain words in the stream that are cut', (key) => sse([`data: ${'x'.repeat(400 - 30)}${key}\n\n`])],
]

const cases = echoes.flatMap(([name, reply]) =>
  [[], ['--debug'], ['--json']].map((mode) => ({ name, reply, mode })),
)

test.each(cases)(
  'generate $mode with a gateway that gives back the key as $name',
  async ({ reply, mode }) => {
    const key = canaryKey()
    const server = await localServer([reply(key, `Bearer ${key}`)])
    const argv = ['generate', '-m', 'some-model', '--base-url', server.url, 'Say hello.', ...mode]
    const { context, exitCode, home } = startProgram(argv, { env: { MODELGATE_API_KEY: key } })
    await exitCode
    expect(server.requests[0]!.headers['authorization']).toBe(`Bearer ${key}`)
    expectNoKey('standard error', context.stderr.bytes, key)
    expectNoKey('standard output', context.stdout.bytes, key)
    expectNoKeyBelow(home, key)
  },
)
