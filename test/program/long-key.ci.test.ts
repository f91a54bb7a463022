import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { expectNoKey } from '../support/canary-key.ts'
import { pngBytes } from '../support/image-bytes.ts'
import { localServer } from '../support/local-server.ts'
import { runMain } from '../support/run-main.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { json } from '../support/server-replies.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'

const keyOf = (length: number) => randomBytes(length).toString('base64url').slice(0, length)
const lengths = [1_365, 8_192, 30_000, 65_536]

test.each(lengths)('every command that sends works with a key of %i characters', async (length) => {
  const { url } = await runningSandbox()
  const cwd = temporaryFolder()
  writeFiles(cwd, { 'key.txt': keyOf(length) })
  const run = (words: string) =>
    runMain([...words.split(' '), '--base-url', url, '--api-key-file', 'key.txt'], {
      cwd,
      home: cwd,
      // Each call has an idempotency key of its own.
      clock: fakeClock({ random: Math.random }),
    })
  expect(await run('generate -m sandbox-text hello')).toMatchObject({ code: 0, err: '' })
  expect(await run('respond -m sandbox-text --json --debug hello')).toMatchObject({ code: 0 })
  expect(await run('image create -m gpt-image-2 --quality low --sidecar -o x.png boat')).toMatchObject({
    code: 0,
  })
  expect(await run('video generate -m veo --no-wait boat')).toMatchObject({ code: 0 })
})

test.each(lengths)(
  'a key of %i characters in a header of the reply is no reason to lose it',
  async (length) => {
    const key = keyOf(length)
    const server = await localServer([
      json(
        { data: [{ b64_json: pngBytes({ width: 2, height: 1 }).toString('base64') }] },
        { headers: { 'x-echo': key } },
      ),
    ])
    const env = { MODELGATE_API_KEY: key, MODELGATE_BASE_URL: server.url }
    const { code, err } = await runMain(['image', 'create', '-m', 'm', '-o', 'x.png', '--debug', 'a'], {
      cwd: temporaryFolder(),
      env,
    })
    expect(code).toBe(0)
    expectNoKey('standard error', err, key)
  },
)

test('a key of more than 64 KiB is refused before anything is sent', async () => {
  const env = { MODELGATE_API_KEY: keyOf(65_537), MODELGATE_BASE_URL: 'http://127.0.0.1:8080' }
  const { code, err } = await runMain(['generate', '-m', 'm', 'hello'], { env })
  expect(code).toBe(2)
  expect(err).toContain('is longer than 65536 characters')
})

test.each([
  ['generate', '-m', 'm', 'hello'],
  ['respond', '-m', 'm', 'hello'],
  ['image', 'create', '-m', 'm', 'boat'],
  ['video', 'generate', '-m', 'm', 'boat'],
])('a bug before %s %s %s %s is sent was not billed', async (...argv) => {
  const cwd = temporaryFolder()
  const env = { MODELGATE_API_KEY: 'k'.repeat(20), MODELGATE_BASE_URL: 'http://127.0.0.1:8080', HOME: cwd }
  // Whatever breaks the program: here the stream that its trace goes to.
  const stderr = {
    isTerminal: false,
    columns: 80,
    stream: undefined,
    bytes: Buffer.alloc(0),
    needsDrain: false,
    drain: async () => {},
  }
  let written = ''
  const write = (chunk: string | Uint8Array) => {
    if (String(chunk).includes('> POST')) throw new RangeError('Maximum call stack size exceeded')
    written += String(chunk)
  }
  const { code } = await runMain([...argv, '--debug', '--json'], {
    cwd,
    home: cwd,
    env,
    stderr: { ...stderr, write } as never,
  })
  expect([code, written]).toEqual([1, expect.stringContaining('"billed":"no"')])
})
