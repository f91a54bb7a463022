import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { spawnProgram } from './spawn-program.ts'

const recorder = pathToFileURL(fileURLToPath(new URL('../bench/baselines/record-memory.js', import.meta.url)))

/** A server that streams a piece so many times, as fast as it is taken, and then the end. */
async function streamOf(piece: string, times: number, end: string): Promise<string> {
  const atOnce = 20_000
  const block = Buffer.from(piece.repeat(atOnce))
  const server = createServer((request, response) => {
    request.resume()
    let left = times / atOnce
    const pump = () => {
      while (left-- > 0) if (!response.write(block)) return void response.once('drain', pump)
      response.end(end)
    }
    pump()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const chunk = (text: string, more = '') =>
  `data: {"candidates":[{"content":{"parts":[{"text":"${text}"}]}${more}}]}\n\n`
const delta = 'data: {"type":"response.output_text.delta","delta":"a"}\n\n'
const completed =
  'data: {"type":"response.completed","response":{"object":"response","status":"completed","output":[]}}\n\n'

test.for<[string, string, string, number, string, number]>([
  ['tiny chunks', 'generate', chunk('a'), 6_000_000, chunk('!', ',"finishReason":"STOP"'), 0],
  ['tiny events', 'respond', delta, 1_600_000, completed, 0],
  ['reasoning', 'respond', delta.replace('output', 'reasoning'), 1_600_000, completed, 9],
  ['lines of data', 'respond', 'data:\n', 4_000_000, `\n${completed}`, 9],
])('%s take no more than 130 MB, however many there are', async ([, command, piece, times, end, exit]) => {
  const url = await streamOf(piece, times, end)
  const file = join(temporaryFolder(), 'memory')
  const env = { NODE_OPTIONS: `--import=${recorder.href}`, BENCH_MEMORY_FILE: file }
  const program = spawnProgram([command, '-m', 'm', '--base-url', url, 'x'], { env })
  expect(await program.ended).toMatchObject({ exit })
  expect(Number(readFileSync(file, 'utf8')) / 1e6).toBeLessThan(130)
})
