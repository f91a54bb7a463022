import type { ServerResponse } from 'node:http'

interface Connection {
  readonly outgoing: ServerResponse
  /** Aborted when the client disconnects or the sandbox closes. */
  readonly signal: AbortSignal
}

/** Writes, and waits if the client reads more slowly than the sandbox writes. */
export async function write({ outgoing, signal }: Connection, bytes: Uint8Array): Promise<void> {
  if (bytes.length === 0 || signal.aborted || outgoing.write(bytes)) return
  await settled(signal, (done) => outgoing.once('drain', done))
}

/** Writes, and waits until the bytes have been flushed, so that they are sent separately. */
export async function writeThrough({ outgoing, signal }: Connection, bytes: Uint8Array): Promise<void> {
  if (bytes.length === 0 || signal.aborted) return
  await settled(signal, (done) => outgoing.write(bytes, done))
}

/** Waits until everything written so far has been flushed. */
export async function flush({ outgoing, signal }: Connection): Promise<void> {
  const { socket } = outgoing
  // An empty write completes after all earlier ones.
  if (socket !== null && !signal.aborted) await settled(signal, (done) => socket.write('', done))
}

/** Waits for the end of the connection. */
export function ended(signal: AbortSignal): Promise<void> {
  return settled(signal, () => {})
}

/** Waits for something on the connection, or for the end of the connection. */
function settled(signal: AbortSignal, start: (done: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done, { once: true })
    start(done)
  })
}
