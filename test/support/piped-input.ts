import type { Input, InputKind } from '../../src/context.ts'

export interface PipedInput extends Input {
  /** Hands over bytes, as the writer of a pipe does. */
  send(chunk: string | Uint8Array): void
  /** Closes the pipe. */
  end(): void
  fail(error: Error): void
  /** How often `release` was called. */
  readonly releases: number
  /** How often `read` was called. */
  readonly reads: number
}

/** Standard input under a test's control; open and silent at first. */
export function pipedInput(kind: InputKind = 'pipe', consumed: Input['consumed'] = 'none'): PipedInput {
  let releases = 0
  let reads = 0
  let controller!: ReadableStreamDefaultController<Uint8Array>
  const stream = new ReadableStream<Uint8Array>({ start: (given) => void (controller = given) })
  return {
    kind,
    consumed,
    read() {
      reads++
      return stream.values()
    },
    release() {
      releases++
    },
    stream: undefined,
    send: (chunk) => controller.enqueue(Buffer.from(chunk as string)),
    end: () => controller.close(),
    fail: (error) => controller.error(error),
    get releases() {
      return releases
    },
    get reads() {
      return reads
    },
  }
}
