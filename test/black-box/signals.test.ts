import { once } from 'node:events'
import process from 'node:process'
import { expect, test } from 'vitest'
import { textStyles } from '../program/text-styles.ts'
import { localServer } from '../support/local-server.ts'
import { until } from '../support/running-sandbox.ts'
import { chunk, flood, head, readAll, sse, write } from '../support/server-replies.ts'
import { spawnProgram } from './spawn-program.ts'

const { delta } = textStyles.respond
const call = (url: string) => ['respond', '-m', 'some-model', '--base-url', url, 'x']

test.each([
  ['SIGINT', 'Stopped.'],
  ['SIGTERM', 'Terminated.'],
  ['SIGHUP', 'Hung up.'],
] as const)('the program dies of %s in the middle of the stream, all written', async (signal, message) => {
  const server = await localServer([sse([delta('Hello, ')], { ending: 'stall' })])
  const program = spawnProgram(call(server.url))
  await until(() => program.stdout.length > 0)
  program.process.kill(signal)
  const ended = await program.ended
  expect({ ...ended, stdout: ended.stdout.toString() }).toEqual({
    exit: signal,
    stdout: 'Hello, \n',
    stderr: `modelgate: ${message}\n  The request may have been billed.\n`,
  })
  await until(() => server.openSockets === 0)
})

test.skipIf(process.platform === 'win32')('SIGUSR1 opens no debugger', async () => {
  const server = await localServer([sse([delta('Hello, ')], { ending: 'stall' })])
  const program = spawnProgram(call(server.url))
  await until(() => program.stdout.length > 0)
  program.process.kill('SIGUSR1')
  // Sent after it, and told later: a debugger has said by then where it listens.
  program.process.kill('SIGINT')
  expect((await program.ended).stderr).not.toContain('Debugger')
})

test('SIGINT while standard input is waited for', async () => {
  const server = await localServer([])
  const program = spawnProgram([...call(server.url), '--stdin-timeout', '0'], { stdin: 'pipe' })
  // More than a pipe holds: the program is reading.
  await new Promise((resolve) => program.process.stdin!.write('x'.repeat(300_000), resolve))
  program.process.kill('SIGINT')
  const { exit, stdout, stderr } = await program.ended
  expect([exit, stdout.length]).toEqual(['SIGINT', 0])
  expect(stderr).toContain('modelgate: Stopped.\n')
})

test('one SIGINT is enough although nobody reads what is left to say', async () => {
  const stream = head(200, { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked' })
  const server = await localServer([[readAll, write(stream), flood(chunk(delta('x'.repeat(10_000))))]])
  const { process, ended } = spawnProgram(call(server.url))
  const gone = once(process, 'exit')
  await once(process.stdout!, 'readable')
  process.stdout!.pause()
  process.kill('SIGINT')
  await gone
  process.stdout!.resume()
  expect((await ended).exit).toBe('SIGINT')
})
