import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { UsageError } from '../errors.ts'
import { maxHeaderBytes } from '../limits.ts'
import type { FaultRule } from './faults/fault-rule.ts'
import { handleRequest } from './http/handle-request.ts'
import type { LatencyProfile } from './http/reply.ts'
import type { RecordOptions } from './recording/record-calls.ts'
import type { ReplayOptions } from './recording/replay-calls.ts'
import type { RequestRecord } from './request-log.ts'
import { ownRouter } from './routes.ts'
import { createState, type StateOptions } from './sandbox.ts'

export type { FaultRule, LatencyProfile, RequestRecord }

export interface SandboxOptions extends StateOptions {
  readonly port?: number
  /** Records a gateway's replies, or answers from recordings, in place of the sandbox's own endpoints. */
  readonly recordings?: { readonly record: RecordOptions } | { readonly replay: ReplayOptions } | undefined
  /** Takes one line for every request, after its reply, without key and prompt. */
  readonly onRequest?: (line: string) => void
}

export type Sandbox = Awaited<ReturnType<typeof startSandbox>>

/**
 * @throws UsageError if the port is not available, or recordings cannot be used; FileError if none can be made
 */
export async function startSandbox(options: SandboxOptions) {
  const { faults = [], recordings, onRequest, port = 0 } = options
  const closing = new AbortController()
  const recorded = recordings && (await openRecordings(recordings))
  const router = recorded?.router ?? ownRouter
  const state = createState(options, closing.signal, () => recorded?.stats())
  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: 60_000,
    // A fault that leaves a body unread may outlast the timeout of slow requests.
    requestTimeout: faults.some(({ at }) => at === 'before-body') ? 0 : 300_000,
    noDelay: true,
  })
  server.on('request', (incoming, outgoing) => {
    handleRequest(incoming, outgoing, router, state)
      .then((record) => record && onRequest?.(lineOf(record)))
      // Rejects only for a bug in the sandbox: close the connection rather than send an answer.
      .catch(() => outgoing.destroy())
  })
  // A connection for which there is no file handle left stops no other.
  server.on('error', () => {})
  server.listen(port, '127.0.0.1')
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'EADDRINUSE' ? 'it is in use' : (error.code ?? error.message)
    throw new UsageError(`The sandbox cannot listen on port ${port}: ${reason}.`, {
      hint: 'Choose another with --port, or leave it out to take any free one.',
      cause: error,
    })
  })
  return {
    ...state,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Aborts running requests and frees the port. */
    close: () =>
      new Promise<void>((resolve) => {
        closing.abort()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** What takes the place of the sandbox's own endpoints, whose names fault rules still use. */
async function openRecordings(options: NonNullable<SandboxOptions['recordings']>) {
  const { answer, stats } =
    'record' in options
      ? await (await import('./recording/record-calls.ts')).createRecorder(options.record)
      : await (await import('./recording/replay-calls.ts')).createReplayer(options.replay)
  const { callRouter } = await import('./recording/call-handler.ts')
  return { router: callRouter(ownRouter, answer), stats }
}

/** `POST /v1/responses 200 sandbox-text, creation, fault rule-1` */
function lineOf({ method, path, status, model, created, repeats, fault }: RequestRecord): string {
  const shown = model === undefined ? '' : ` ${model.replace(/[^\x21-\x7e]/g, '?').slice(0, 80)}`
  const line = `${method} ${path} ${status ?? 'no reply'}${shown}`
  const notes = [created && 'creation', repeats && 'first answer again', fault && `fault ${fault}`]
  return [line, ...notes.filter(Boolean)].join(', ')
}
