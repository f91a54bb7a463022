import process from 'node:process'
import { expect, test } from 'vitest'
import { textStyles } from '../program/text-styles.ts'
import { canMakeCertificates, makeCertificate } from '../support/certificate.ts'
import { localServer } from '../support/local-server.ts'
import { sse } from '../support/server-replies.ts'
import { endOf, type SpawnOptions } from './spawn-program.ts'

const { delta, end } = textStyles.generate
const isLinux = process.platform === 'linux'

/** How a line of bash ends in which `modelgate "$@"` is a call of a gateway that answers, or is not asked. */
async function run(shell: string, { replies = [], ...options }: SpawnOptions & { replies?: string[] } = {}) {
  const server = await localServer(replies.map((reply) => sse([reply])))
  const argv = ['generate', '-m', 'some-model', '--base-url', server.url, 'x']
  return await endOf(argv, { shell, ...options })
}

const replies = [delta('Hello.') + end]
const success = { exit: 0, stdout: 'Hello.\n', stderr: '' }

test.each([
  ['standard input is closed', 'modelgate "$@" <&-', {}],
  ['standard error is closed', 'modelgate "$@" 2>&-', {}],
  ['there is no home directory', 'modelgate "$@"', { HOME: undefined }],
])('%s, and all is well', async (_, shell, env) => {
  expect(await run(shell, { env, replies })).toEqual(success)
})

test.runIf(isLinux)('the home directory cannot be written, which is told', async () => {
  // Not even by root, as which tests run in containers.
  const stderr = expect.stringMatching(
    /^warning: The call is not in the log: "\/sys\/.*" cannot be written: .*\n$/,
  ) as string
  expect(await run('modelgate "$@"', { env: { HOME: '/sys' }, replies })).toEqual({ ...success, stderr })
})

test.runIf(isLinux).each([
  ['in a function', 'modelgate "$@" >&-'],
  ['in a subshell', '(modelgate "$@") >&-'],
  ['in the whole script', 'exec >&-; modelgate "$@"'],
  ['for a version', 'modelgate --version >&-'],
])('standard output is closed %s: nothing is sent', async (_, shell) => {
  const problem =
    'Standard output is closed: the result would be lost.\n  hint: To discard it, write >/dev/null.'
  expect(await run(shell)).toEqual({ exit: 10, stdout: '', stderr: `modelgate: ${problem}\n` })
})

/** A program that starts the one under test and discards its output. */
const spawning = `
  const { spawn } = require('node:child_process')
  const argv = [process.env.LAUNCHER, ...process.argv.slice(1)]
  spawn(process.execPath, argv, { stdio: ['ignore', 'ignore', 'inherit'] }).on('exit', (code) => process.exit(code))
`

test.each([
  ['a shell', 'modelgate generate --sandbox --dry-run x >/dev/null'],
  ['a program that opens it to read, too,', '"$NODE" -e "$SPAWN" generate --sandbox --dry-run x'],
])('%s discards standard output', async (_, shell) => {
  expect(await run(shell, { env: { SPAWN: spawning } })).toEqual({ exit: 0, stdout: '', stderr: '' })
})

test.runIf(canMakeCertificates)('no warning says that certificates are not checked: they are', async () => {
  const server = await localServer([[]], { tls: makeCertificate(), verify: false })
  const argv = ['generate', '-m', 'some-model', '--base-url', server.url, 'x']
  const { exit, stderr } = await endOf(argv, { env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' } })
  expect({ exit, stderr }).toEqual({ exit: 6, stderr: expect.stringMatching(/^modelgate: .*certificate/) })
  expect(stderr).not.toContain('Warning')
})

// Windows does not let a folder be removed that somebody is in.
test.runIf(process.platform !== 'win32').each([
  ['--version', 0],
  ['help exit-codes', 0],
  ['completion bash', 0],
  ['__complete profiles', 0],
  ['generate --sandbox x', 10],
  ['image edit --sandbox --image a.png x', 10],
])('in a folder that is gone, %s ends with %i', async (words, code) => {
  const { exit, stderr } = await run(`mkdir gone && cd gone && rmdir ../gone && modelgate ${words}`)
  expect(exit).toBe(code)
  expect(stderr).toMatch(code === 0 ? /^$/ : /^modelgate: .*The working directory no longer exists\./)
  expect(stderr).not.toMatch(/^ +at /m)
})
