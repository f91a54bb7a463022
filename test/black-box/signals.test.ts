import { once } from 'node:events'
import { expect, test } from 'vitest'
import { textStyles } from '../program/text-styles.ts'
import { localServer } from '../support/local-server.ts'
import { until } from '../support/running-sandbox.ts'
import { chunk, flood, head, readAll, sse, write } from '../support/server-replies.ts'
import { spawnProgram } from './spawn-program.ts'

const { delta } = textStyles.respond
const call = (url: string) => ['respond', '-m', 'some-model', '--base-url', url, 'x']

test.each([
  ['SIGINT', 130, 'Stopped.'],
  ['SIGTERM', 143, 'Terminated.'],
  ['SIGHUP', 129, 'Hung up.'],
] as const)('%s in the middle of the stream', async (signal, exit, message) => {
  const server = await localServer([sse([delta('Hello, ')], { ending: 'stall' })])
  const program = spawnProgram(call(server.url))
  await until(() => program.stdout.length > 0)
  program.process.kill(signal)
  const ended = await program.ended
  expect({ ...ended, stdout: ended.stdout.toString() }).toEqual({
    exit,
    stdout: 'Hello, \n',
    stderr: `modelgate: ${message}\n  The request may have been billed.\n`,
  })
  await until(() => server.openSockets === 0)
})

test('SIGINT while standard input is waited for', async () => {
  const server = await localServer([])
  const program = spawnProgram([...call(server.url), '--stdin-timeout', '0'], { stdin: 'pipe' })
  await until(() => program.stderr.includes('Waiting for text on standard input'))
  program.process.kill('SIGINT')
  const { exit, stdout, stderr } = await program.ended
  expect({ exit, stdout: stdout.toString() }).toEqual({ exit: 130, stdout: '' })
  expect(stderr).toContain('modelgate: Stopped.\n')
})

test('a second SIGINT ends the program although nobody reads what it has to say', async () => {
  const stream = head(200, { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked' })
  const server = await localServer([[readAll, write(stream), flood(chunk(delta('x'.repeat(10_000))))]])
  const { process, ended } = spawnProgram(call(server.url))
  const gone = once(process, 'exit')
  await once(process.stdout!, 'readable')
  process.stdout!.pause()
  // The first is obeyed by ending the request; the words that have come still wait for their reader.
  process.kill('SIGINT')
  await until(() => server.openSockets === 0)
  process.kill('SIGINT')
  await gone
  process.stdout!.resume()
  // On a busy machine the first one's farewell may be over just then: a process that is ending dies of the signal
  // itself, which a shell calls 130 as well.
  expect([130, 'SIGINT']).toContain((await ended).exit)
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
  expect((await ended).exit).toBe(130)
})
