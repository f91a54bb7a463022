import { expect, test } from 'vitest'
import { textStyles } from '../program/text-styles.ts'
import { localServer } from '../support/local-server.ts'
import { sse } from '../support/server-replies.ts'
import { spawnProgram } from './spawn-program.ts'

const { delta, end } = textStyles.generate
const answer = sse([delta('Hello.'), end])

async function run(shell: string, env: Readonly<Record<string, string | undefined>> = {}) {
  const server = await localServer([answer])
  const argv = ['generate', '-m', 'some-model', '--base-url', server.url, 'x']
  const { exit, stdout, stderr } = await spawnProgram(argv, { shell, env }).ended
  return { exit, stdout: stdout.toString(), stderr }
}

const success = { exit: 0, stdout: 'Hello.\n', stderr: '' }

test('standard input is closed', async () => {
  expect(await run('modelgate "$@" <&-')).toEqual(success)
})

test('standard error is closed', async () => {
  expect(await run('modelgate "$@" 2>&-')).toEqual(success)
})

test('standard output is closed', async () => {
  const { exit, stdout } = await run('modelgate "$@" >&-')
  expect({ exit, stdout }).toEqual({ exit: 0, stdout: '' })
})

test('standard output is a full disk', async () => {
  const { exit, stderr } = await run('modelgate "$@" >/dev/full')
  expect({ exit, stderr }).toEqual({
    exit: 10,
    stderr: expect.stringContaining('modelgate: Standard output cannot be written: no space left.'),
  })
})

test('the home directory cannot be written', async () => {
  // Not even by root, as which tests run in containers.
  expect(await run('modelgate "$@"', { HOME: '/sys' })).toEqual(success)
})

test('there is no home directory', async () => {
  expect(await run('modelgate "$@"', { HOME: undefined })).toEqual(success)
})
