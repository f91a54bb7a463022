import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Clock } from '../context.ts'
import type { ModelFamilies } from '../contract/known-models.ts'
import { maxHeaderBytes } from '../limits.ts'
import { UsageError } from '../errors.ts'
import { createBoundedMap } from './bounded-map.ts'
import { type FaultRule, createFaultChooser } from './faults/fault-rule.ts'
import { handleRequest } from './http/handle-request.ts'
import { createFirstAnswers } from './http/idempotency.ts'
import { pacingOf, type LatencyProfile } from './http/reply.ts'
import { createJsonStore } from './json-store.ts'
import type { CallMatcher } from './recording/call-handler.ts'
import type { Recorder, RecordOptions } from './recording/record-calls.ts'
import type { Replayer, ReplayOptions } from './recording/replay-calls.ts'
import { createRequestLog, type RequestRecord } from './request-log.ts'
import { createResponseStore } from './responses/response-store.ts'
import { ownRouter } from './routes.ts'
import type { Sandbox } from './sandbox.ts'
import { isJob, isJobOver } from './videos/video-job.ts'

export type { FaultRule, LatencyProfile, RequestRecord, Sandbox }

export interface SandboxOptions {
  /** 0, the default, takes any free port. */
  readonly port?: number
  /** Makes texts, ids, jitter and random choices repeatable; 1 by default. */
  readonly seed?: number
  /** `none` when left out. */
  readonly latency?: LatencyProfile
  readonly faults?: readonly FaultRule[]
  /**
   * The folder for video jobs and background responses, so that they outlive this sandbox; created on demand. By default they are kept in
   * memory.
   */
  readonly folder?: string | undefined
  /** Whether the folder keeps all stored responses, and not only those in the background: for a sandbox of one command. */
  readonly keepsAllResponses?: boolean
  /** How many answers to requests with an `Idempotency-Key` are kept; 1000 by default. */
  readonly keptAnswers?: number
  /** The families that a configuration gives to models, besides those that are known. */
  readonly families?: ModelFamilies
  readonly clock: Clock
  /** Whether files that are open hinder replacing them; `linux` by default. */
  readonly platform?: NodeJS.Platform
  /** Records a gateway's replies, or answers from recordings, in place of the sandbox's own endpoints. */
  readonly recordings?: { readonly record: RecordOptions } | { readonly replay: ReplayOptions } | undefined
  /** Called with one line for every request, after its reply. Contains no key and no prompt. */
  readonly onRequest?: (line: string) => void
}

/** How long the headers of a request may take to arrive, and all of it. */
const [headersMs, requestMs] = [60_000, 300_000]

const keptRepetitions = 10_000
/** Maximum number of result images, and of their bytes; beyond it the oldest are dropped. */
const [keptImages, keptImageBytes] = [10_000, 256 * 1024 * 1024]
const keptJobs = 1000

/**
 * Starts the sandbox on 127.0.0.1.
 * @throws UsageError if the port is not available, or recordings cannot be used; FileError if none can be made
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { seed = 1, latency = 'none', clock, folder, onRequest } = options
  const host = { clock, platform: options.platform ?? 'linux' }
  const log = createRequestLog()
  const closing = new AbortController()
  const recorded = options.recordings && (await openRecordings(options.recordings))
  const router = recorded === undefined ? ownRouter : { find: recorded.find, methods: () => [] }
  // A fault that leaves a body unread may outlast the timeout of slow requests.
  const leavesUnread = options.faults?.some(({ at }) => at === 'before-body') === true
  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: headersMs,
    requestTimeout: leavesUnread ? 0 : requestMs,
    noDelay: true,
  })
  await listen(server, options.port ?? 0)
  const sandbox: Sandbox = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seed,
    families: options.families ?? {},
    clock,
    latency,
    pacing: pacingOf(latency),
    signal: closing.signal,
    faults: createFaultChooser(options.faults ?? [], seed),
    log,
    repetitions: createBoundedMap(keptRepetitions),
    firstAnswers: createFirstAnswers(options.keptAnswers),
    responses: createResponseStore(host, folder && join(folder, 'responses'), options.keepsAllResponses),
    images: createBoundedMap(keptImages, keptImageBytes),
    videoJobs: createJsonStore(host, { folder, isEntry: isJob, isOver: isJobOver, maxEntries: keptJobs }),
    onRequest: onRequest && ((record) => onRequest(lineOf(record))),
    created: log.created,
    requests: log.requests,
    firedFaults: log.firedFaults,
    recordings: () => recorded?.stats(),
    close: () =>
      new Promise((resolve) => {
        closing.abort()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  server.on('request', (incoming, outgoing) => {
    // Rejects only for a bug in the sandbox: close the connection rather than send an answer.
    handleRequest(incoming, outgoing, router, sandbox).catch(() => outgoing.destroy())
  })
  return sandbox
}

/** Answers take the place of the sandbox's own endpoints, whose names fault rules still use. */
async function openRecordings(
  options: NonNullable<SandboxOptions['recordings']>,
): Promise<Recorder | Replayer> {
  const { resultEndpoint } = await import('./recording/result-urls.ts')
  const matchOf: CallMatcher = (method, path) => {
    const found = ownRouter.find(method, path)
    const endpoint = resultEndpoint(path) ?? found?.handler.endpoint ?? 'other'
    return { endpoint, params: found?.params ?? {} }
  }
  if ('record' in options) {
    const { createRecorder } = await import('./recording/record-calls.ts')
    return createRecorder(options.record, matchOf)
  }
  const { createReplayer } = await import('./recording/replay-calls.ts')
  return createReplayer(options.replay, matchOf)
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason = error.code === 'EADDRINUSE' ? 'it is in use' : (error.code ?? error.message)
      reject(
        new UsageError(`The sandbox cannot listen on port ${port}: ${reason}.`, {
          hint: 'Choose another with --port, or leave it out to take any free one.',
          cause: error,
        }),
      )
    })
    server.listen(port, '127.0.0.1', () => resolve())
  })
}

/** `POST /v1/responses 200 sandbox-text, creation, fault rule-1` */
function lineOf({ method, path, status, model, created, repeats, fault }: RequestRecord): string {
  const facts = [
    `${method} ${path} ${status ?? 'no reply'}`,
    ...(model === undefined ? [] : [model.replace(/[^\x21-\x7e]/g, '?').slice(0, 80)]),
  ].join(' ')
  const notes = [
    facts,
    ...(created ? ['creation'] : []),
    ...(repeats ? ['first answer again'] : []),
    ...(fault === undefined ? [] : [`fault ${fault}`]),
  ]
  return notes.join(', ')
}
