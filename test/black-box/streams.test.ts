import process from 'node:process'
import { expect, test } from 'vitest'
import { textStyles } from '../program/text-styles.ts'
import { canMakeCertificates, makeCertificate } from '../support/certificate.ts'
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

const dry = 'modelgate generate --sandbox --dry-run x'

test.runIf(process.platform === 'linux').each([
  ['in a function', 'modelgate "$@" >&-'],
  ['in a subshell', '(modelgate "$@") >&-'],
  ['in the whole script', 'exec >&-; modelgate "$@"'],
])('standard output is closed %s: nothing is sent', async (_, shell) => {
  const server = await localServer([])
  const argv = ['generate', '-m', 'some-model', '--base-url', server.url, 'x']
  const { exit, stdout, stderr } = await spawnProgram(argv, { shell }).ended
  expect({ exit, stdout: stdout.toString(), stderr }).toEqual({
    exit: 10,
    stdout: '',
    stderr:
      'modelgate: Standard output is closed: the result would be lost.\n  hint: To discard it, write >/dev/null.\n',
  })
})

test.runIf(process.platform === 'linux')('standard output is closed: no version either', async () => {
  const { exit, stderr } = await spawnProgram([], { shell: 'modelgate --version >&-' }).ended
  expect([exit, stderr]).toEqual([10, expect.stringContaining('Standard output is closed')])
})

/** A program that starts the one under test and discards its output. */
const spawning = `
  const { spawn } = require('node:child_process')
  const argv = [process.env.LAUNCHER, ...process.argv.slice(1)]
  spawn(process.execPath, argv, { stdio: ['ignore', 'ignore', 'inherit'] }).on('exit', (code) => process.exit(code))
`

test.each([
  ['a shell', `${dry} >/dev/null`],
  [
    'a program that opens /dev/null for reading as well',
    '"$NODE" -e "$SPAWN" generate --sandbox --dry-run x',
  ],
])('%s discards standard output', async (_, shell) => {
  const { exit, stderr } = await spawnProgram([], { shell, env: { SPAWN: spawning } }).ended
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
})

test.runIf(canMakeCertificates)('no warning says that certificates are not checked: they are', async () => {
  const server = await localServer([[]], { tls: makeCertificate(), verify: false })
  const argv = ['generate', '-m', 'some-model', '--base-url', server.url, 'x']
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' }
  const { exit, stderr } = await spawnProgram(argv, { env }).ended
  expect({ exit, stderr }).toEqual({ exit: 6, stderr: expect.stringMatching(/^modelgate: .*certificate/) })
  expect(stderr).not.toContain('Warning')
})

test.runIf(process.platform === 'linux')('the home directory cannot be written', async () => {
  // Not even by root, as which tests run in containers.
  const stderr = expect.stringMatching(
    /^warning: The call is not in the log: "\/sys\/.*" cannot be written: .*\n$/,
  ) as string
  expect(await run('modelgate "$@"', { HOME: '/sys' })).toEqual({ ...success, stderr })
})

test('there is no home directory', async () => {
  expect(await run('modelgate "$@"', { HOME: undefined })).toEqual(success)
})
