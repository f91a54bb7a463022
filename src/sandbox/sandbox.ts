import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../context.ts'
import type { ModelFamilies } from '../contract/known-models.ts'
import type { BoundedMap } from './bounded-map.ts'
import type { FaultChooser, EndpointName } from './faults/fault-rule.ts'
import type { FirstAnswers } from './http/idempotency.ts'
import type { JobPacing, LatencyProfile, Reply } from './http/reply.ts'
import { envelopeOf, type Envelope } from './http/request-problem.ts'
import type { JsonStore } from './json-store.ts'
import type { JsonObject } from './json-value.ts'
import type { FiredFault, RecordStats, ReplayStats, RequestLog, RequestRecord } from './request-log.ts'
import type { ResponseStore } from './responses/response-store.ts'
import type { VideoJob } from './videos/video-job.ts'

export type ImageFormat = 'png' | 'jpeg' | 'webp'

export interface EncodedPicture {
  readonly bytes: Uint8Array
  readonly format: ImageFormat
  readonly background: 'transparent' | 'opaque'
}

/** A running sandbox: its settings, and the state that its endpoints share. */
export interface Sandbox {
  /** `http://127.0.0.1:PORT` */
  readonly url: string
  readonly seed: number
  /** The families that a configuration gives to models. */
  readonly families: ModelFamilies
  readonly clock: Clock
  readonly latency: LatencyProfile
  /** Of videos and background responses. */
  readonly pacing: JobPacing
  readonly signal: AbortSignal
  readonly faults: FaultChooser
  readonly log: RequestLog
  /** How often each request was answered, so that every answer to a repeated one can be another. */
  readonly repetitions: BoundedMap<number>
  readonly firstAnswers: FirstAnswers
  readonly responses: ResponseStore
  /** The pictures that can be fetched by URL, by file name. */
  readonly images: BoundedMap<EncodedPicture>
  readonly videoJobs: JsonStore<VideoJob>
  readonly onRequest: ((record: RequestRecord) => void) | undefined
  /** Creations accepted so far, in all or of one endpoint: what a real gateway would have billed. */
  created(endpoint?: EndpointName): number
  requests(): readonly Readonly<RequestRecord>[]
  firedFaults(): readonly FiredFault[]
  /** How recordings have been made or used; undefined without. */
  recordings(): RecordStats | ReplayStats | undefined
  /** Aborts running requests and frees the port. */
  close(): Promise<void>
}

/** Maximum length of a recorded path. No endpoint has a longer one. */
const maxPathLength = 2048

/** One request, from its arrival to the last byte of its reply; it is filled in on the way. */
export class Exchange {
  readonly sandbox: Sandbox
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  readonly method: string
  /** Without escapes of characters that need none. */
  readonly path: string
  /** May contain a key, so it is neither stored nor logged. */
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  /** Of URLs on this sandbox, as the client addresses it. */
  readonly origin: string
  readonly envelope: Envelope
  /** Of the header `x-sandbox-scenario`. */
  readonly scenario: string | undefined
  readonly record: RequestRecord
  /** Aborted when the client disconnects or the sandbox closes. */
  readonly signal: AbortSignal
  /** Makes ids unique and repeatable. */
  number = 0
  /** The path parameters of the route: `id`, `model`. */
  params: Readonly<Record<string, string>> = {}
  /** A JSON object, or the fields of a form; empty without a body. */
  body: JsonObject = {}
  /** Of a form. */
  files: readonly UploadedFile[] = []
  size = 0
  /** The same for bodies that say the same: SHA-256 of the canonical JSON, or of the fields and files of a form. */
  digest = ''
  /**
   * Seeds what is created: the sandbox's seed, and from the second identical request on how many came before. A request
   * with a seed of its own takes the sandbox's seed and that one instead.
   */
  seed: readonly (string | number)[]
  /** Whether a fault replaces the stream with one document. */
  ignoresStream = false
  /** Whether the answer is made to its end for others who may ask for it, though the client has gone. */
  outlivesClient = false

  constructor(incoming: IncomingMessage, outgoing: ServerResponse, sandbox: Sandbox) {
    const { method = 'GET', url = '/', headers } = incoming
    const [path = '', ...query] = url.split('?')
    const left = new AbortController()
    outgoing.once('close', () => left.abort())
    this.sandbox = sandbox
    this.incoming = incoming
    this.outgoing = outgoing
    this.method = method
    this.path = plainPath(path)
    this.query = new URLSearchParams(query.join('?'))
    this.headers = headers
    this.origin = `http://${headers.host}`
    this.envelope = envelopeOf(this.path, headers)
    this.scenario = [headers['x-sandbox-scenario']].flat()[0]
    this.signal = AbortSignal.any([left.signal, sandbox.signal])
    this.seed = [sandbox.seed]
    this.record = {
      method,
      path: copyOf(this.path.slice(0, maxPathLength).replace(/[^\x21-\x7e]/g, '?')),
      endpoint: undefined,
      model: undefined,
      idempotencyKey: undefined,
      status: undefined,
      created: false,
      repeats: false,
      fault: undefined,
      cameAt: sandbox.clock.monotonic(),
      repliedAt: undefined,
    }
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

/** A file of a form, possibly truncated. */
export interface UploadedFile {
  /** Name of the form's field: `image`, `image[]`, `mask`. */
  readonly field: string
  readonly declaredType: string
  readonly size: number
  readonly digest: string
  /** The first bytes, or all bytes of files whose pixels are needed and that are not too large. */
  readonly head: Uint8Array
}

export interface Handler {
  readonly endpoint: EndpointName
  /** Whether a request without a key is accepted. */
  readonly needsNoKey?: boolean
  /** Whether a request with a known `Idempotency-Key` is answered like any other. */
  readonly ignoresIdempotency?: boolean
  readBody?(exchange: Exchange): Promise<void>
  answer(exchange: Exchange): Reply | Promise<Reply>
}

export interface Match {
  readonly handler: Handler
  readonly params: Exchange['params']
}

/** The endpoints. Paths have no escapes of characters that need none. */
export interface Router {
  find(method: string, path: string): Match | undefined
  /** The methods that a path takes, for `Allow`; none for an unknown path. */
  methods(path: string): readonly string[]
}
