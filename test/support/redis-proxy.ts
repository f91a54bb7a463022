import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** The answer to a command in place of the server's own, in the protocol of Redis; undefined lets it through. */
export type Answer = (command: readonly string[]) => string | undefined

/**
 * Stands before a Redis server and answers some commands otherwise than it does: as a newer one, or one of a host that
 * forbids commands. One command at a time goes through.
 * @returns the port, on 127.0.0.1
 */
export async function redisProxy(url: string, answer: Answer): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(new URL(url).port), '127.0.0.1')
    const replies: ((reply: Buffer) => void)[] = []
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => [client, upstream].forEach((other) => other.destroy()))
    }
    onValues(upstream, (reply) => replies.shift()?.(reply))
    let last = Promise.resolve()
    onValues(client, (bytes) => {
      last = last.then(async () => {
        const own = answer(wordsOf(bytes))
        if (own !== undefined) return void client.write(own)
        upstream.write(bytes)
        client.write(await new Promise<Buffer>((resolve) => replies.push(resolve)))
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

function onValues(socket: Socket, onValue: (bytes: Buffer) => void): void {
  let buffer = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    buffer = Buffer.concat([buffer, chunk])
    for (let end = endOfValue(buffer, 0); end > 0; end = endOfValue(buffer, 0)) {
      onValue(buffer.subarray(0, end))
      buffer = buffer.subarray(end)
    }
  })
}

/** Where the value that begins at `start` ends; 0 if it is not whole. */
function endOfValue(buffer: Buffer, start: number): number {
  const lineEnd = buffer.indexOf('\r\n', start) + 2
  if (lineEnd < 2) return 0
  const kind = String.fromCharCode(buffer[start]!)
  const count = Number(buffer.subarray(start + 1, lineEnd - 2).toString())
  if (kind === '$')
    return count < 0 ? lineEnd : lineEnd + count + 2 <= buffer.length ? lineEnd + count + 2 : 0
  if (kind !== '*') return lineEnd
  let end = lineEnd
  for (let left = count; left > 0 && end > 0; left--) end = end < buffer.length ? endOfValue(buffer, end) : 0
  return end
}

/** Of an array of bulk strings without line breaks. */
function wordsOf(bytes: Buffer): readonly string[] {
  return bytes
    .toString()
    .split('\r\n')
    .slice(2)
    .filter((_, index) => index % 2 === 0)
}
