import { expect, test } from 'vitest'
import { textStyles } from '../program/text-styles.ts'
import { canaryKey, expectNoKey } from '../support/canary-key.ts'
import { localServer } from '../support/local-server.ts'
import { runOnScreen } from '../support/screen.ts'
import { sse, type ServerReply } from '../support/server-replies.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { launcher } from './spawn-program.ts'

const { delta, end } = textStyles.generate

async function onScreen(reply: ServerReply, columns: number, env: Readonly<Record<string, string>> = {}) {
  const key = canaryKey()
  const server = await localServer([reply])
  const argv = ['generate', '-m', 'some-model', '--base-url', server.url, 'x']
  const home = temporaryFolder()
  const result = await runOnScreen(launcher, argv, {
    columns,
    cwd: home,
    env: { HOME: home, MODELGATE_API_KEY: key, ...env },
  })
  expectNoKey('the screen', result.bytes, key)
  return result
}

const words = 'Three rivers: the Danube, the Rhine and the Elbe. '

test.each([
  [20, ['Three rivers: the', 'Danube, the Rhine', 'and the Elbe. More?']],
  [80, [`${words}More?`]],
])('words on a terminal of %i columns', async (columns, rows) => {
  const { lines, bytes, exitCode } = await onScreen(sse([delta(words), delta('More?'), end]), columns)
  expect(exitCode).toBe(0)
  expect(lines.map((line) => line.trimEnd())).toEqual(rows)
  // Whatever was shown while waiting has been taken away again.
  expect(bytes).not.toContain('waiting for some-model\r\n')
})
