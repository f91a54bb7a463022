import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { systemClock } from '../../src/context.ts'

interface RelayedRequest {
  readonly method: string
  readonly path: string
  /** When it came, on the monotonic clock. */
  readonly at: number
  /** When the beginning of a 429 came back. */
  refusedAt?: number
}

/** A way to a gateway that can be cut; each connection on it has one request. */
export interface Relay {
  readonly url: string
  /** In the order in which they came. */
  readonly requests: readonly RelayedRequest[]
  /** Breaks off every connection, and refuses new ones. */
  cut(): Promise<void>
  /** Is there again, at the same address. */
  restore(): Promise<void>
}

export async function startRelay(url: string): Promise<Relay> {
  const requests: RelayedRequest[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const upstream = connect(Number(new URL(url).port), '127.0.0.1')
    sockets.add(socket).add(upstream)
    socket.once('data', (chunk: Buffer) => {
      const [method = '', path = ''] = chunk.toString('latin1').split(' ')
      const request: RelayedRequest = { method, path, at: systemClock.monotonic() }
      requests.push(request)
      // Before it is passed on.
      upstream.prependOnceListener('data', (reply: Buffer) => {
        if (reply.toString('latin1').startsWith('HTTP/1.1 429')) request.refusedAt = systemClock.monotonic()
      })
    })
    for (const [one, other] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => sockets.delete(one))
      one.pipe(other)
    }
  })
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  await listen(0)
  const { port } = server.address() as AddressInfo
  const cut = async () => {
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.resetAndDestroy()
    await closed
  }
  onTestFinished(async () => {
    if (server.listening) await cut()
  })
  return { url: `http://127.0.0.1:${port}`, requests, cut, restore: () => listen(port) }
}
