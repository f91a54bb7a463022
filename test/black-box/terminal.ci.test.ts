import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runProgram } from '../../src/program.ts'
import { textStyles } from '../program/text-styles.ts'
import { canaryKey, expectNoKey } from '../support/canary-key.ts'
import { localServer } from '../support/local-server.ts'
import { runOnScreen, type ScreenOptions } from '../support/screen.ts'
import { sse } from '../support/server-replies.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'
import { endOf, launcher } from './spawn-program.ts'

const { delta, end } = textStyles.generate
const key = canaryKey()

/** A call on a terminal; the key is not to be seen. */
async function onScreen(argv: readonly string[], options: Partial<ScreenOptions> = {}) {
  // With a space in it.
  const home = join(temporaryFolder(), 'a home')
  const env = { HOME: home, PATH: process.env['PATH']!, MODELGATE_API_KEY: key }
  const result = await runOnScreen(launcher, argv, { ...options, env })
  expect(result.exitCode).toBe(0)
  expectNoKey('the screen', result.bytes, key)
  return { ...result, home }
}

const words = 'Three rivers: the Danube, the Rhine and the Elbe. '

test.each([
  [20, ['Three rivers: the', 'Danube, the Rhine', 'and the Elbe. More?']],
  [80, [`${words}More?`]],
])('words on a terminal of %i columns', async (columns, rows) => {
  const { url } = await localServer([sse([delta(words), delta('More?'), end])])
  const argv = ['generate', '-m', 'some-model', '--base-url', url, 'x']
  const { lines, bytes } = await onScreen(argv, { columns })
  expect(lines.map((line) => line.trimEnd())).toEqual(rows)
  // Whatever was shown while waiting has been taken away again.
  expect(bytes).not.toContain('waiting for some-model\r\n')
})

test('auth login: neither the key nor its length is on the screen', async () => {
  const type = [{ when: 'API key of profile new:', keys: `${key}\r` }]
  const { home, bytes } = await onScreen(['auth', 'login', '--profile', 'new'], { type })
  expect(bytes).not.toContain('*')
  const file = join(home, '.config/modelgate/credentials.json')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ profiles: { new: { api_key: key } } })
})

test('the help that the build has written down is that of the commands, also on a terminal', async () => {
  const plain = testContext()
  await runProgram(['--help'], plain)
  expect(await endOf(['--help'])).toEqual({ exit: 0, stdout: plain.stdout.text, stderr: '' })
  const narrow = testContext({ terminal: true, columns: 40 })
  await runProgram(['--help'], narrow)
  const { bytes } = await onScreen(['--help'], { columns: 40, rows: 60 })
  expect(bytes).toContain(narrow.stdout.text.replaceAll('\n', '\r\n'))
})
