import type { Input, InputKind } from '../../src/context.ts'

/** Standard input under a test's control; open and silent at first. */
export function pipedInput(kind: InputKind = 'pipe', consumed: Input['consumed'] = 'none') {
  let controller!: ReadableStreamDefaultController<Uint8Array>
  const stream = new ReadableStream<Uint8Array>({ start: (given) => void (controller = given) })
  const input = {
    kind,
    consumed,
    /** How often each of these was called. */
    releases: 0,
    reads: 0,
    read() {
      input.reads++
      return stream.values()
    },
    release: () => void input.releases++,
    stream: undefined,
    /** Hands over bytes, as the writer of a pipe does. */
    send: (chunk: string | Uint8Array) => controller.enqueue(Buffer.from(chunk as string)),
    /** Closes the pipe. */
    end: () => controller.close(),
    fail: (error: Error) => controller.error(error),
  }
  return input
}
