import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { expectNoKey } from '../support/canary-key.ts'
import { memorySink } from '../support/memory-sink.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { json } from '../support/server-replies.ts'
import { writeFiles } from '../support/temporary-folder.ts'
import { red, resultOf } from './images/replies.ts'
import { answeredBy, workspaceAt } from './workspace.ts'

const keyOf = (length: number) => randomBytes(length).toString('base64url').slice(0, length)

test.each([1_365, 65_536])('every command that sends works with a key of %i characters', async (length) => {
  const { run, cwd } = workspaceAt(await runningSandbox())
  writeFiles(cwd, { 'key.txt': keyOf(length) })
  const env = { MODELGATE_API_KEY: undefined, MODELGATE_API_KEY_FILE: 'key.txt' }
  for (const words of [
    'generate -m sandbox-text hello',
    'respond -m sandbox-text --json --debug hello',
    'image create -m gpt-image-2 --quality low --sidecar -o x.png boat',
    'video generate -m veo --no-wait boat',
  ]) {
    expect([words, (await run(words.split(' '), { env })).code]).toEqual([words, 0])
  }
})

test.each([1_365, 65_536])(
  'a key of %i characters in a header is no reason to lose the reply',
  async (length) => {
    const key = keyOf(length)
    const { run } = await answeredBy(['image']).given(json(resultOf(red), { headers: { 'x-echo': key } }))
    const words = ['create', '-m', 'm', '-o', 'x.png', '--debug', 'a']
    const { code, err } = await run(words, { env: { MODELGATE_API_KEY: key } })
    expect(code).toBe(0)
    expectNoKey('standard error', err, key)
  },
)

test('a key of more than 64 KiB is refused before anything is sent', async () => {
  const { run } = await answeredBy().given()
  const env = { MODELGATE_API_KEY: keyOf(65_537) }
  const { code, err } = await run(['generate', '-m', 'm', 'hello'], { env })
  expect([code, err]).toEqual([2, expect.stringContaining('is longer than 65536 characters')])
})

test.each(['generate', 'respond', 'image create', 'video generate'])(
  'a bug before %s is sent was not billed',
  async (command) => {
    const { run } = await answeredBy().given()
    // Whatever breaks the program: here the stream that its trace goes to.
    const stderr = memorySink()
    const { write } = stderr
    stderr.write = (chunk) => {
      if (String(chunk).includes('> POST')) throw new RangeError('Maximum call stack size exceeded')
      write(chunk)
    }
    const words = [...command.split(' '), '-m', 'm', '--debug', '--json', 'boat']
    const { code, err } = await run(words, { stderr })
    expect([code, err]).toEqual([1, expect.stringContaining('"billed":"no"')])
  },
)
