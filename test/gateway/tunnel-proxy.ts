import { createServer, connect as connectSocket, type AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** A proxy that opens tunnels, all of them to this machine whatever host is asked for, and keeps the first lines of what it was asked. */
export async function tunnelProxy(): Promise<{ url: string; asked: string[]; openSockets: () => number }> {
  const asked: string[] = []
  const sockets = new Set<{ destroy(): void }>()
  const server = createServer((client) => {
    sockets.add(client)
    client.on('close', () => sockets.delete(client))
    client.on('error', () => {})
    client.once('data', (bytes) => {
      const line = bytes.toString('latin1').split('\r\n', 1)[0]!
      asked.push(line)
      const [, port] = /^CONNECT [\w.]+:(\d+) /.exec(line) ?? []
      const upstream = connectSocket(Number(port), '127.0.0.1', () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n')
        client.pipe(upstream).pipe(client)
      })
      upstream.on('error', () => client.destroy())
      client.on('close', () => upstream.destroy())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, asked, openSockets: () => sockets.size }
}
