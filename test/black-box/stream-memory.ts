import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { onTestFinished } from 'vitest'
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

/** How a command ends that reads a long stream, and the most memory that it takes meanwhile, in MB. */
export async function memoryOf(command: string, piece: string, times: number, end: string) {
  const url = await streamOf(piece, times, end)
  const file = join(temporaryFolder(), 'memory')
  const env = { NODE_OPTIONS: `--import=${recorder.href}`, BENCH_MEMORY_FILE: file }
  const { exit } = await spawnProgram([command, '-m', 'm', '--base-url', url, 'x'], { env }).ended
  return { exit, memory: Number(readFileSync(file, 'utf8')) / 1e6 }
}

export const delta = 'data: {"type":"response.output_text.delta","delta":"a"}\n\n'
export const completed =
  'data: {"type":"response.completed","response":{"object":"response","status":"completed","output":[]}}\n\n'
