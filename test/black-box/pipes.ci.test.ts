import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import process from 'node:process'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { textStyles } from '../program/text-styles.ts'
import { localServer } from '../support/local-server.ts'
import { until } from '../support/running-sandbox.ts'
import { chunk, flood, head, readAll, sse, write } from '../support/server-replies.ts'
import { endOf, spawnProgram } from './spawn-program.ts'
import { amount } from '../support/sample.ts'

const { delta, end } = textStyles.generate
const streamed = { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked', 'x-request-id': 'r' }
const call = (url: string) => ['generate', '-m', 'some-model', '--base-url', url]

test('`| head -1` ends quietly and stops the request', async () => {
  const server = await localServer([
    [readAll, write(head(200, streamed)), write(chunk(delta('one\n'))), flood(chunk(delta('and so on\n')))],
  ])
  const shell = 'modelgate "$@" | head -1; exit ${PIPESTATUS[0]}'
  const ended = await endOf([...call(server.url), 'x'], { shell })
  expect(ended).toEqual({ exit: 0, stdout: 'one\n', stderr: '' })
  await until(() => server.openSockets === 0)
})

test.runIf(process.platform === 'linux').each(['--version', 'help exit-codes'])(
  '%s to a reader that has gone ends quietly',
  async (words) => {
    // A pipe that has lost its reader before the program begins: Linux lets one process open both of its ends.
    const shell = 'mkfifo p; exec 3<>p 4>p 3<&-; modelgate "$@" >&4; echo "status $?"'
    expect(await endOf(words.split(' '), { shell })).toMatchObject({ stdout: 'status 0\n', stderr: '' })
  },
)

test('3 MB arrive whole through a slow pipe', async () => {
  const line = `${'0123456789'.repeat(10)}é\n`
  const events = Array.from({ length: 300 }, () => delta(line.repeat(100)))
  const server = await localServer([sse([...events, end])])
  const { process, ended } = spawnProgram([...call(server.url), 'x'])
  const { stdout } = process
  stdout!.on('data', () => {
    stdout!.pause()
    void setImmediate().then(() => stdout!.resume())
  })
  const { exit, stdout: bytes } = await ended
  expect(exit).toBe(0)
  expect(bytes.equals(Buffer.from(line.repeat(30_000)))).toBe(true)
})

const megabytes = amount(10, 100)

test(`${megabytes} MB of standard input reach a gateway that takes them`, async () => {
  let received = 0
  const server = createServer((request, response) => {
    request.on('data', (bytes: Buffer) => (received += bytes.length))
    request.on('end', () => response.end(textStyles.respond.delta('Read.') + textStyles.respond.end))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const shell = `yes | head -c ${megabytes}000000 | modelgate "$@"`
  const ended = await endOf(['respond', '-m', 'some-model', '--base-url', url, '-'], { shell })
  expect(ended).toEqual({ exit: 0, stdout: 'Read.\n', stderr: '' })
  // In JSON each of the line ends takes two characters.
  expect(received).toBeGreaterThan(megabytes * 1_500_000)
})
