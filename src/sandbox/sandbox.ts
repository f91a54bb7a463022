import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { HttpBindings } from '@hono/node-server'
import type { Clock } from '../context.ts'
import { maxHeaderBytes } from '../contract/limits.ts'
import { UsageError } from '../errors.ts'
import type { EndpointName, FaultRule } from './faults/rule.ts'
import { createFaultChooser } from './faults/choose.ts'
import type { Exchanges } from './http/handler.ts'
import type { LatencyProfile } from './http/reply.ts'
import { createLedger, type FiredFault, type RequestRecord } from './ledger.ts'
import { addRoutes } from './routes.ts'

export type { FaultRule, FiredFault, LatencyProfile, RequestRecord }

export interface SandboxOptions {
  /** 0, the default, takes any free port. */
  readonly port?: number
  /** Makes texts, ids, jitter and chances repeatable; 1 when left out. */
  readonly seed?: number
  /** `none` when left out. */
  readonly latency?: LatencyProfile
  readonly faults?: readonly FaultRule[]
  /** Where video jobs are kept, so that they outlive this sandbox; made when it is needed. Memory when left out. */
  readonly folder?: string | undefined
  /** `flat` serves pictures and videos of one colour, which take no time to make: for tests. `scenes` when left out. */
  readonly media?: 'scenes' | 'flat'
  readonly clock: Clock
  /** Called with one line for every request, when its reply is over. Holds no key and no prompt. */
  readonly onRequest?: (line: string) => void
}

/** A running sandbox: the gateway's contract, made executable on loopback. */
export interface Sandbox {
  /** `http://127.0.0.1:PORT` */
  readonly url: string
  /** Creations accepted so far, in all or of one endpoint: what a real gateway would have billed. */
  created(endpoint?: EndpointName): number
  /** The requests so far, oldest first. */
  requests(): readonly RequestRecord[]
  firedFaults(): readonly FiredFault[]
  /** Breaks off what is running and frees the port. */
  close(): Promise<void>
}

/**
 * Starts the sandbox on 127.0.0.1.
 * @throws UsageError when the port cannot be had
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const [{ Hono }, { createAdaptorServer }] = await Promise.all([import('hono'), import('@hono/node-server')])
  const { seed = 1, clock, onRequest } = options
  const ledger = createLedger()
  const closing = new AbortController()
  let requests = 0
  const app = new Hono<{ Bindings: HttpBindings }>()
  const shared: Exchanges = {
    seed,
    clock,
    media: options.media ?? 'scenes',
    latency: options.latency ?? 'none',
    faults: createFaultChooser(options.faults ?? [], seed),
    ledger,
    signal: closing.signal,
    onRequest: onRequest && ((record) => onRequest(lineOf(record))),
    nextNumber: () => ++requests,
  }
  addRoutes(app, shared, options.folder)
  // The global Request and Response belong to the program around the sandbox.
  const server = createAdaptorServer({
    fetch: app.fetch,
    overrideGlobalObjects: false,
    serverOptions: { maxHeaderSize: maxHeaderBytes },
  }) as Server
  // A stalled fault may outlast any timeout of the server's own.
  server.requestTimeout = 0
  server.on('connection', (socket) => socket.setNoDelay(true))
  await listen(server, options.port ?? 0)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    created: ledger.created,
    requests: ledger.requests,
    firedFaults: ledger.firedFaults,
    close: () =>
      new Promise((resolve) => {
        closing.abort()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason = error.code === 'EADDRINUSE' ? 'it is in use' : (error.code ?? error.message)
      reject(
        new UsageError(`The sandbox cannot listen on port ${port}: ${reason}.`, {
          code: 'port_unavailable',
          hint: 'Choose another with --port, or leave it out to take any free one.',
          cause: error,
        }),
      )
    })
    server.listen(port, '127.0.0.1', () => resolve())
  })
}

/** `POST /v1/responses 200 sandbox-text, creation, fault rule-1` */
function lineOf({ method, path, status, model, created, fault }: RequestRecord): string {
  const facts = [
    `${method} ${path} ${status ?? 'no reply'}`,
    ...(model === undefined ? [] : [model.replace(/[^\x21-\x7e]/g, '?').slice(0, 80)]),
  ].join(' ')
  return [facts, ...(created ? ['creation'] : []), ...(fault === undefined ? [] : [`fault ${fault}`])].join(
    ', ',
  )
}
