import { connect } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Sandbox } from '../../src/sandbox/start-sandbox.ts'

/** Sends a body without an HTTP client in between, in pieces of a size, and waits for the end of the answer. */
export async function rawForm(
  sandbox: Sandbox,
  path: string,
  body: Buffer,
  contentType: string,
  size = 4096,
): Promise<{ readonly bytes: string }> {
  const { hostname, port, host } = new URL(sandbox.url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  const { promise, resolve } = Promise.withResolvers<{ bytes: string }>()
  let bytes = ''
  socket.on('data', (chunk) => (bytes += chunk.toString('latin1')))
  socket.on('close', () => resolve({ bytes }))
  socket.on('error', () => {})
  const head = [
    `POST ${path} HTTP/1.1`,
    `host: ${host}`,
    'authorization: Bearer test-key',
    `content-type: ${contentType}`,
    `content-length: ${body.length}`,
    'connection: close',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  for (let at = 0; at < body.length; at += size) {
    await new Promise((written) => socket.write(body.subarray(at, at + size), written))
  }
  return promise
}
