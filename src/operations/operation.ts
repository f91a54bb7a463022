import type { StreamContext } from '../files/stream-media.ts'
import { asModelgateError, type ExitName, type ModelgateError } from '../errors.ts'
import type { OutputDocument, OutputEvent } from '../events/documents.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { TextReply } from '../gateway/stream-text.ts'
import { listOf, objectOf, objectsOf, stringOf } from '../json.ts'
import type { Spending } from './spending.ts'

export type Body = Record<string, unknown>

export interface Listener {
  event(event: OutputEvent): void
  /** Waits for a slow reader. Called once for every chunk from the network. */
  flush(): Promise<void>
  /** The gateway's own JSON as received, for a listener that wants it: one document, or one event of a stream. */
  readonly raw?: ((text: string) => void) | undefined
  /** What a conversation continues from, once a text answer has ended or broken off; it takes memory. */
  readonly reply?: ((reply: TextReply) => void) | undefined
}

/** Removes secrets from the gateway's text before it is used in a file name or a record. */
export interface Redactor {
  text(text: string): string
  document(json: string): string
}

export function withoutSecrets<Value>(value: Value, redactor: Redactor): Value {
  return JSON.parse(redactor.document(JSON.stringify(value))) as Value
}

/** What an operation uses of the process. Standard output is only for the bytes of `-o -`. */
export type OperationContext = StreamContext

/** The dependencies of every operation. It does not know flags, terminals or exit codes. */
export interface Call {
  readonly context: OperationContext
  readonly gateway: Gateway
  readonly listener: Listener
  readonly redactor: Redactor
  /** The folder for results that were paid for but cannot be written to their target. */
  readonly rescueFolder: string | undefined
  /** What is created and spent; left out where nobody counts. */
  readonly spending?: Pick<Spending, 'withCost'> | undefined
  /** Whether a request that may cost money has been sent. */
  hasSent(): boolean
}

/**
 * The outcome of an operation. `ended`: the document is complete and lists the items that failed; `failure` is the
 * error for them. `failed`: the operation broke off; the document contains what had arrived.
 */
export type Outcome<Document extends OutputDocument> =
  | { readonly kind: 'ended'; readonly document: Document; readonly failure?: ModelgateError | undefined }
  | { readonly kind: 'failed'; readonly error: ModelgateError; readonly document: Document | undefined }

/**
 * Turns what an operation throws into its outcome.
 * @param work gives the failure that the items amount to, if any
 * @param document what has arrived so far; undefined only while `work` has not succeeded
 */
export async function settle<Document extends OutputDocument>(
  { gateway, hasSent, spending }: Call,
  work: () => Promise<ModelgateError | undefined | void>,
  document: () => Document | undefined,
  amend = (error: ModelgateError) => error,
): Promise<Outcome<Document>> {
  try {
    const failure = (await work()) ?? undefined
    const ended = document()!
    return { kind: 'ended', document: (await spending?.withCost(ended)) ?? ended, failure }
  } catch (thrown) {
    const error = asModelgateError(thrown, gateway.trace !== undefined)
    // A bug before a request was sent cost nothing. Other errors have that fact themselves.
    const known =
      error.exit === 'bug' ? error.amend({ billed: hasSent() ? 'maybe' : 'no', ...error.facts }) : error
    const amended = amend(known)
    const left = document()
    const partial = left && ((await spending?.withCost(left)) ?? left)
    // A problem of the input has nothing to do with a request.
    const id = amended.exit === 'usage' || partial === undefined ? undefined : requestIdOf(partial)
    return { kind: 'failed', error: amended.amend({ requestId: id, ...amended.facts }), document: partial }
  }
}

/** The exit of a command that does several things, some of which failed. @param count of all things */
export function commonExit(errors: readonly ModelgateError[], count: number): ExitName {
  const exits = new Set(errors.map(({ exit }) => exit))
  // What can still be had outranks what came; else a reason that all have in common is reported.
  if (exits.has('running')) return 'running'
  const [exit = 'partial'] = exits
  return errors.length === count && exits.size === 1 ? exit : 'partial'
}

export function requestIdOf(document: OutputDocument): string | undefined {
  return 'request_id' in document ? (document.request_id ?? undefined) : undefined
}

/** Appends entries to a list in a body. A value that is not a list is kept, for the contract check to report. */
export function appendEntries(body: Body, name: string, entries: readonly unknown[]): void {
  body[name] = [body[name] ?? [], entries].flat()
}

/** What the user said last in a request, whatever its endpoint. */
export function promptOf({ prompt, instances, contents, input }: Body): string | undefined {
  const texts =
    typeof prompt === 'string'
      ? [prompt]
      : Array.isArray(instances)
        ? instances.map((instance) => objectOf(instance)['prompt'])
        : lastTexts(contents ?? input)
  const found = texts.filter((text) => typeof text === 'string')
  return found.length === 0 ? undefined : found.join('\n')
}

function lastTexts(messages: unknown): unknown[] {
  if (typeof messages === 'string') return [messages]
  const contents = objectsOf(messages)
    .filter(({ role }) => role !== 'model' && role !== 'assistant')
    .map(({ parts, content = parts }) => content)
  const content = contents.findLast((one) => one !== undefined)
  return typeof content === 'string'
    ? [content]
    : listOf(content).map((part) => stringOf(objectOf(part)['text']))
}
