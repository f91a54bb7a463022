import type { Sink } from '../context.ts'

/** An output that keeps what is written. */
export function collectingSink(): { readonly sink: Sink; text(): string } {
  const chunks: Buffer[] = []
  const sink: Sink = {
    isTerminal: false,
    columns: 80,
    isClosed: false,
    write: (chunk) => void chunks.push(Buffer.from(chunk as string)),
    needsDrain: false,
    isIdle: true,
    async drain() {},
    stream: undefined,
  }
  return { sink, text: () => Buffer.concat(chunks).toString('utf8') }
}
