import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export type Relay = Awaited<ReturnType<typeof startRelay>>

/** A way to a gateway that can be cut, and is there again at the same address. */
export async function startRelay(url: string) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const upstream = connect(Number(new URL(url).port), '127.0.0.1')
    sockets.add(socket).add(upstream)
    const join = (one: Socket, other: Socket) => {
      one.on('error', () => other.destroy())
      one.on('close', () => sockets.delete(one))
      one.pipe(other)
    }
    join(socket, upstream)
    join(upstream, socket)
  })
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  await listen(0)
  const { port } = server.address() as AddressInfo
  /** Breaks off every connection, and refuses new ones. */
  const cut = async () => {
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.resetAndDestroy()
    await closed
  }
  onTestFinished(async () => {
    if (server.listening) await cut()
  })
  return { url: `http://127.0.0.1:${port}`, cut, restore: () => listen(port) }
}
