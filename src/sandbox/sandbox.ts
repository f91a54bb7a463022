import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { Clock } from '../context.ts'
import type { ModelFamilies } from '../contract/known-models.ts'
import { createBoundedMap } from './bounded-map.ts'
import { createFaultChooser, type FaultRule, type EndpointName, type NamedRule } from './faults/fault-rule.ts'
import { createFirstAnswers } from './http/idempotency.ts'
import { pacingOf, type LatencyProfile, type Reply } from './http/reply.ts'
import { envelopeOf } from './http/request-problem.ts'
import { createJsonStore } from './json-store.ts'
import type { JsonObject } from './json-value.ts'
import { createRequestLog, newRecord } from './request-log.ts'
import { createResponseStore } from './responses/response-store.ts'
import { isJob, isJobOver, type VideoJob } from './videos/video-job.ts'

export type ImageFormat = 'png' | 'jpeg' | 'webp'

export interface EncodedPicture {
  readonly bytes: Uint8Array
  readonly format: ImageFormat
  readonly background: 'transparent' | 'opaque'
}

export interface StateOptions {
  readonly seed?: number
  readonly latency?: LatencyProfile
  readonly faults?: readonly FaultRule[]
  /** For video jobs and background responses, which then outlive this sandbox; created on demand. */
  readonly folder?: string | undefined
  /** Whether the folder keeps all stored responses, and not only those in the background: for a sandbox of one command. */
  readonly keepsAllResponses?: boolean
  readonly keptAnswers?: number
  /** Of models, besides those that are known. */
  readonly families?: ModelFamilies
  readonly clock: Clock
  /** Whether files that are open hinder replacing them; `linux` by default. */
  readonly platform?: NodeJS.Platform
}

export type SandboxState = ReturnType<typeof createState>

/** @param signal aborted when the sandbox closes */
export function createState<Stats>(options: StateOptions, signal: AbortSignal, recordings: () => Stats) {
  const { seed = 1, latency = 'none', families = {}, clock, folder, platform = 'linux' } = options
  const log = createRequestLog()
  const host = { clock, platform }
  return {
    seed,
    latency,
    families,
    clock,
    signal,
    pacing: pacingOf(latency),
    chooseFault: createFaultChooser(options.faults ?? [], seed),
    log,
    /** How often each request was answered, so that every answer to a repeated one can be another. */
    repetitions: createBoundedMap<number>(10_000),
    answerOnce: createFirstAnswers(options.keptAnswers),
    responses: createResponseStore(host, folder && join(folder, 'responses'), options.keepsAllResponses),
    /** Those that can be fetched by URL, by file name. */
    images: createBoundedMap<EncodedPicture>(10_000, 256 * 1024 * 1024),
    videoJobs: createJsonStore<VideoJob>(host, {
      folder,
      isEntry: isJob,
      isOver: isJobOver,
      maxEntries: 1000,
    }),
    created: log.created,
    requests: log.requests,
    firedFaults: log.firedFaults,
    recordings,
  }
}

/** In characters: no endpoint has a longer path, and thousands of names of models and keys are remembered. */
const maxPathLength = 2048
export const maxNameLength = 256

/** One request, from its arrival to the last byte of its reply. */
export type Exchange = ReturnType<typeof createExchange>

export function createExchange(incoming: IncomingMessage, outgoing: ServerResponse, sandbox: SandboxState) {
  const { method = 'GET', url = '/', headers } = incoming
  const [escapedPath = '', ...query] = url.split('?')
  const path = plainPath(escapedPath)
  const left = new AbortController()
  outgoing.once('close', () => left.abort())
  const idempotencyKey = [headers['idempotency-key']].flat()[0]
  const shownPath = copyOf(path.slice(0, maxPathLength).replace(/[^\x21-\x7e]/g, '?'))
  const shownKey = idempotencyKey && copyOf(idempotencyKey.slice(0, maxNameLength))
  return {
    sandbox,
    incoming,
    outgoing,
    method,
    headers,
    record: newRecord(method, shownPath, shownKey, sandbox.clock.monotonic()),
    idempotencyKey,
    /** Without escapes of characters that need none. */
    path,
    /** May contain a key, so it is neither stored nor logged. */
    query: new URLSearchParams(query.join('?')),
    origin: `http://${headers.host}`,
    envelope: envelopeOf(path, headers),
    scenario: [headers['x-sandbox-scenario']].flat()[0],
    /** Aborted when the client disconnects or the sandbox closes. */
    signal: AbortSignal.any([left.signal, sandbox.signal]),
    /** Makes ids unique and repeatable. */
    number: 0,
    params: {} as Readonly<Record<string, string>>,
    body: {} as JsonObject,
    files: [] as readonly UploadedFile[],
    size: 0,
    /** The same for bodies that say the same: SHA-256 of the canonical JSON, or of the fields and files of a form. */
    digest: '',
    /**
     * Seeds what is created: the sandbox's seed, and from the second identical request on how many came before. A request
     * with a seed of its own takes the sandbox's seed and that one instead.
     */
    seed: [sandbox.seed] as readonly (string | number)[],
    fault: undefined as NamedRule | undefined,
    /** Whether the fault replaces a stream with one document. */
    get ignoresStream() {
      return this.fault?.action === 'ignore-stream'
    },
    /** Whether the answer is made to its end for others who may ask for it, though the client has gone. */
    outlivesClient: false,
  }
}

/** A path without escapes of characters that need none (RFC 3986, section 6.2.2.2), and of the colon. */
function plainPath(path: string): string {
  return path.replace(/%([2-7][\da-f])/gi, (escape, digits: string) => {
    const character = String.fromCharCode(Number.parseInt(digits, 16))
    return /[\w.~:-]/.test(character) ? character : escape
  })
}

/** A part of a text that is kept longer: the engine's own would keep all of the text, an address of 100,000 bytes. */
export function copyOf(part: string): string {
  return Buffer.from(part).toString()
}

export interface UploadedFile {
  /** `image`, `image[]`, `mask` */
  readonly field: string
  readonly declaredType: string
  readonly size: number
  readonly digest: string
  /** The first bytes, or all bytes of files whose pixels are needed and that are not too large. */
  readonly head: Uint8Array
}

export interface Handler {
  readonly endpoint: EndpointName
  /** Whether a request is answered without a key, and whatever its `Idempotency-Key` is. */
  readonly needsNoKey?: boolean
  readBody?(exchange: Exchange): Promise<void>
  /** @throws RequestProblem for a request that it refuses, as everything that it calls may */
  answer(exchange: Exchange): Reply | Promise<Reply>
}

export interface Router {
  /** @param path without escapes of characters that need none */
  find(method: string, path: string): { handler: Handler; params: Exchange['params'] } | undefined
  /** For `Allow`; none for an unknown path. */
  methods(path: string): readonly string[]
}
