import { expect, test } from 'vitest'
import { textStyles } from '../program/text-styles.ts'
import { canaryKey, expectNoKey } from '../support/canary-key.ts'
import { localServer } from '../support/local-server.ts'
import { runOnScreen } from '../support/screen.ts'
import { sse, text, type ServerReply } from '../support/server-replies.ts'
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

test('control characters of the answer are shown, not obeyed', async () => {
  const { lines, exitCode } = await onScreen(
    sse([delta('a\u001b[2Jb\u001b]0;title\u0007c\rd\u009b31me'), end]),
    80,
  )
  expect({ lines, exitCode }).toEqual({ lines: ['a␛[2Jb␛]0;title␇c␍d\\u{9b}31me'], exitCode: 0 })
})

test.each([
  ['in colour', {}, true],
  ['without colour where NO_COLOR is set', { NO_COLOR: '1' }, false],
  ['in colour where NO_COLOR is empty', { NO_COLOR: '' }, true],
] as const)('an error is shown %s', async (_, env, coloured) => {
  const { lines, bytes, exitCode } = await onScreen(text('No such model.', { status: 404 }), 80, env)
  expect(exitCode).toBe(4)
  expect(lines[0]).toBe('modelgate: The gateway rejected the request (HTTP 404): No such model.')
  // oxlint-disable-next-line no-control-regex
  expect(/\u001b\[[\d;]*m/.test(bytes)).toBe(coloured)
})
