import type { Server as HttpServer } from 'node:http'
import { createServer as createPlainServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { createServer as createTlsServer } from 'node:tls'
import { expect, onTestFinished } from 'vitest'
import type { ServerReply, Step } from './server-replies.ts'

export interface ReceivedRequest {
  /** `POST /v1/responses HTTP/1.1`; empty until the head has come. */
  readonly line: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** Whether as many bytes have come as `content-length` says. */
  readonly complete: boolean
}

export type LocalServer = Readonly<Awaited<ReturnType<typeof localServer>>>

/** Says what a connection gets, once the head of its request has come. */
export type ChooseReply = (request: ReceivedRequest) => ServerReply

export interface LocalServerOptions {
  /** Speaks TLS with this key and certificate (PEM), and may ask clients for one, too. */
  readonly tls?: { readonly key: string; readonly cert: string; readonly requestCert?: boolean } | undefined
  /**
   * Whether the end of the test checks that there were exactly as many connections as replies. Off only where
   * the number of connections is what the test itself looks at.
   */
  readonly verify?: boolean
}

/**
 * A server for one test: the first connection gets the first reply, and so on.
 * When the test ends it is closed, and the test fails unless every reply was asked for, and none but these; a function
 * answers as many as there are.
 */
export async function localServer(
  replies: readonly ServerReply[] | ChooseReply,
  { tls, verify = true }: LocalServerOptions = {},
) {
  /** One for each connection, in order. */
  const requests: ReceivedRequest[] = []
  const sockets = new Set<Socket>()
  const faults: unknown[] = []
  let last: { readonly isEndless: boolean } | undefined
  const seen = {
    requests,
    /** How many replies have been played to their last step, or given up because the client had gone. */
    played: 0,
    /** Bytes written that the system has taken. */
    taken: 0,
    /** Bytes that have come, over all connections. */
    received: 0,
    /** How many there have been, also of those on which no TLS came about. */
    get connections() {
      return connections.size
    },
    get openSockets() {
      return sockets.size
    },
    /** Whether the reply on the last connection has come to a stall or a flood: only time ends it. */
    get isEndless() {
      return last?.isEndless === true
    },
  }
  const accept = (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', ({ length }: Buffer) => (seen.received += length))
    const connection = createConnection(socket, (bytes) => (seen.taken += bytes))
    const reply = typeof replies === 'function' ? replies : replies[requests.length]
    requests.push(connection.request)
    last = connection
    if (reply === undefined) return void socket.destroy()
    connection
      .play(reply)
      .catch((error: unknown) => faults.push(error))
      .finally(() => seen.played++)
  }
  const options = { noDelay: true, allowHalfOpen: true }
  const server = tls === undefined ? createPlainServer(options) : createTlsServer({ ...options, ...tls })
  server.on(tls === undefined ? 'connection' : 'secureConnection', accept)
  // Connections whose TLS handshake fails never get as far as `accept`.
  const connections = new Set<Socket>()
  server.on('connection', (socket: Socket) => connections.add(socket))
  server.on('tlsClientError', () => {})
  const port = await listen(server)
  onTestFinished(async () => {
    for (const socket of [...sockets, ...connections]) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
    expect(faults, 'what went wrong in the local server').toEqual([])
    if (verify && typeof replies !== 'function') {
      expect(requests.length, 'connections to the local server').toBe(replies.length)
    }
  })
  const url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`
  return Object.assign(seen, { url, port })
}

/** Lets a server listen on loopback until the test ends. @returns its URL */
export async function listenForTest(server: HttpServer): Promise<string> {
  const port = await listen(server)
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${port}`
}

/** A port on which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = createPlainServer()
  const port = await listen(server)
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** The client has gone before the reply was over: no fault of anybody. */
class ClientGone extends Error {}

function createConnection(socket: Socket, onTaken: (bytes: number) => void) {
  const chunks: Buffer[] = []
  let length = 0
  /** Of the request, once it has come whole: not to be searched for in a long body again and again. */
  let requestHead: string | undefined
  let gone = false
  let isEndless = false
  let wake: (() => void) | undefined
  const changed = () => new Promise<void>((resolve) => (wake = resolve))
  socket.on('data', (bytes: Buffer) => {
    chunks.push(bytes)
    length += bytes.length
    requestHead ??= headOf(whole())
    wake?.()
  })
  socket.on('error', () => {})
  for (const event of ['end', 'close'] as const) {
    socket.on(event, () => {
      // A client of ours never closes only one half: FIN means that it has gone.
      gone = true
      socket.destroy()
      wake?.()
    })
  }
  const whole = () => Buffer.concat(chunks)
  const bodyAt = () => (requestHead === undefined ? length : requestHead.length + headEnd.length)
  const request: ReceivedRequest = {
    get line() {
      return (requestHead ?? '').split('\r\n', 1)[0]!
    },
    get headers() {
      return headersOf(requestHead ?? '')
    },
    get body() {
      return whole().subarray(bodyAt())
    },
    get complete() {
      return request.line !== '' && length - bodyAt() >= Number(request.headers['content-length'] ?? 0)
    },
  }
  const until = async (condition: () => boolean) => {
    while (!condition()) {
      if (gone) throw new ClientGone()
      await changed()
    }
  }
  const send = async (bytes: string | Uint8Array) => {
    if (gone) throw new ClientGone()
    const error = await new Promise<Error | null | undefined>((resolve) => socket.write(bytes, resolve))
    if (error) throw new ClientGone()
    onTaken(Buffer.byteLength(bytes as string))
    // Another turn of the loop, so that the client sees the writes one by one.
    await setImmediate()
  }
  const perform = async (step: Step): Promise<unknown> => {
    switch (step.step) {
      case 'read':
        return until(step.until === 'head' ? () => request.line !== '' : () => request.complete)
      case 'write':
        return send(step.bytes)
      case 'flood':
        isEndless = true
        for (;;) await send(step.bytes)
      case 'hold':
        return Promise.race([step.until, until(() => false)])
      case 'stall':
        isEndless = true
        return until(() => false)
      case 'hear':
        return step.on ? socket.resume() : socket.pause()
      case 'sip': {
        const enough = length + step.bytes
        socket.resume()
        await until(() => length >= enough)
        return socket.pause()
      }
      case 'end':
        return socket.end()
      case 'reset':
        return socket.resetAndDestroy()
    }
  }
  return {
    request,
    get isEndless() {
      return isEndless && !gone
    },
    async play(reply: ServerReply | ChooseReply): Promise<void> {
      try {
        const isChosen = typeof reply === 'function'
        if (isChosen) await until(() => request.line !== '')
        for (const step of isChosen ? reply(request) : reply) await perform(step)
      } catch (error) {
        if (!(error instanceof ClientGone)) throw error
      }
    },
  }
}

const headEnd = '\r\n\r\n'

function headOf(bytes: Buffer): string | undefined {
  const at = bytes.indexOf(headEnd)
  return at < 0 ? undefined : bytes.toString('latin1', 0, at)
}

function headersOf(head: string): Record<string, string> {
  const lines = head.split('\r\n').slice(1)
  const fields = lines.map((line) => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
  })
  return Object.fromEntries(fields) as Record<string, string>
}
