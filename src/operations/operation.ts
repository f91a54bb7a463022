import type { StreamContext } from '../files/stream-media.ts'
import { asModelgateError, type ModelgateError } from '../errors.ts'
import type { OutputDocument, OutputEvent } from '../events/output.ts'
import type { Gateway } from '../gateway/gateway.ts'

/** A request body in the contract's own names. */
export type Body = Record<string, unknown>

/** Who is told what happens while an operation runs: a renderer of the command line, a log, a board of many jobs. */
export interface Listener {
  event(event: OutputEvent): void
  /** Waits for a slow reader. Called once for every chunk from the network. */
  flush(): Promise<void>
  /** The gateway's own JSON as it came, for a listener that wants it: one document, or one event of a stream. */
  readonly raw?: ((text: string) => void) | undefined
}

/** Takes secrets out of what the gateway sent, before it becomes a part of a file name or of a record. */
export interface Redactor {
  text(text: string): string
  document(json: string): string
}

/**
 * What an operation takes of the process: the working directory, the platform, time, and the signal that ends it. It
 * neither asks nor reads, and has no environment; standard output takes the bytes of `-o -`, and nothing else.
 */
export type OperationContext = StreamContext

/** What every operation works with. It knows nothing of flags, terminals or exit codes. */
export interface Call {
  readonly context: OperationContext
  readonly gateway: Gateway
  readonly listener: Listener
  readonly redactor: Redactor
  /** Where a result goes that has been paid for and cannot be written where it belongs. */
  readonly rescueFolder: string | undefined
  /** Whether a request that may cost money has gone out. */
  hasSent(): boolean
}

/**
 * How an operation came out. `ended`: the document is complete, and lists the items that failed; `failure` is what
 * these amount to. `failed`: the operation broke off, and the document holds what had come by then.
 */
export type Outcome<Document extends OutputDocument> =
  | { readonly kind: 'ended'; readonly document: Document; readonly failure?: ModelgateError | undefined }
  | { readonly kind: 'failed'; readonly error: ModelgateError; readonly document: Document | undefined }

/**
 * Turns what an operation throws into its outcome.
 * @param work gives the failure that the items amount to, if any
 * @param document what has come so far; undefined only while `work` has not succeeded
 * @param amend adds to an error what only the operation knows
 */
export async function settle<Document extends OutputDocument>(
  { gateway, hasSent }: Call,
  work: () => Promise<ModelgateError | undefined>,
  document: () => Document | undefined,
  amend: (error: ModelgateError) => ModelgateError | Promise<ModelgateError>,
): Promise<Outcome<Document>> {
  try {
    const failure = await work()
    return { kind: 'ended', document: document()!, failure }
  } catch (thrown) {
    const error = asModelgateError(thrown, gateway.trace !== undefined)
    // A bug cannot have cost anything before a request went out. Other errors know that themselves.
    const known =
      error.exit === 'bug' ? error.amend({ billed: hasSent() ? 'maybe' : 'no', ...error.facts }) : error
    return { kind: 'failed', error: await amend(known), document: document() }
  }
}

/** Adds entries to a list of a body. What is there and is no list is kept, for the check to judge. */
export function appendEntries(body: Body, name: string, entries: readonly unknown[]): void {
  const before = body[name] ?? []
  body[name] = [...(Array.isArray(before) ? (before as unknown[]) : [before]), ...entries]
}

/**
 * How many results came of those that were asked for, as a sentence (fault E37).
 * @param requested undefined when nobody knows
 * @param kept how many of them are kept, where that is not all
 */
export function countMismatch(
  received: number,
  requested: number | undefined,
  noun: 'image' | 'video',
  kept = received,
): string {
  const counts = `${received} ${noun}${received === 1 ? '' : 's'} received`
  const all = requested === undefined ? counts : `${counts}, ${requested} requested`
  return kept === received ? `${all}.` : `${all}; the first ${kept} are kept.`
}
