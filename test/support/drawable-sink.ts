import { PassThrough } from 'node:stream'
import { Terminal } from '@xterm/headless'
import { linesOf } from './screen.ts'
import { memorySink, type MemorySink } from './memory-sink.ts'

/** A stream in memory that passes for a terminal which a library could draw on. */
export function drawableSink({ isTerminal = true, columns = 80 } = {}): MemorySink {
  const sink = memorySink({ isTerminal, columns })
  const moves = { cursorTo: () => true, moveCursor: () => true, clearLine: () => true }
  const stream = Object.assign(new PassThrough(), { columns, isTTY: isTerminal, ...moves })
  return Object.defineProperty(sink, 'stream', { value: stream })
}

/** What a person would see of everything that a sink was given, without blank lines at the end. */
export async function screenOf({ text, columns }: MemorySink): Promise<string[]> {
  const terminal = new Terminal({ cols: columns, rows: 24, allowProposedApi: true, convertEol: true })
  await new Promise<void>((resolve) => terminal.write(text, resolve))
  return linesOf(terminal)
}
