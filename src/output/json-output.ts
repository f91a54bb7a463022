import type { Context, Sink } from '../context.ts'
import { billedOf, ContractError, type ModelgateError } from '../errors.ts'
import type { ErrorDocument, OutputDocument, OutputEvent } from '../events/documents.ts'
import { isDeeperThan, maxJsonDepth } from '../json.ts'
import { sanitise, sanitiseJson, type Gate } from './gate.ts'
import { createResultOutput, type Output, type RendererParts } from './output.ts'
import { openRescueSink, type RescuePlace } from './rescue-sink.ts'

/** One document when the command ends; a failure is one on standard error, with everything that had arrived. */
export function createJsonOutput(parts: RendererParts): Output {
  const { screen, gate, context } = parts
  const { stdout, stderr } = context
  return createResultOutput(withoutErrors(parts), {
    async end(document) {
      checkDepth(document)
      screen.text(`${gate.document(documentText(document, stdout))}\n`)
    },
    async error(error, partial) {
      const rest = partial && hasContent(partial) ? { partial: withoutDeepParts(partial) } : {}
      screen.json(documentText({ ...errorDocument(error), ...rest }, stderr))
    },
  })
}

/** The document or the event of an error takes the place of its notice. */
function withoutErrors({ screen, notices }: RendererParts): Pick<RendererParts, 'screen' | 'notices'> {
  return { screen, notices: { ...notices, error() {} } }
}

/** The id of a job is worth keeping, however little is known of the job. */
const resultField =
  /^(?:text|reasoning|refusal|candidates|tool_calls|files|links|id|jobs|videos|instances|done|created)$/

function hasContent(document: OutputDocument): boolean {
  return Object.entries(document).some(([name, value]) => {
    const size = typeof value === 'number' ? value : (value as { readonly length: number } | null)?.length
    return resultField.test(name) && (size ?? 0) > 0
  })
}

/**
 * Every event is a line; the first is `start`, and exactly one, `end` or `error`, is the last. Pieces of text are
 * written together, by `flush`; all else at once.
 */
export function createJsonLinesOutput(parts: RendererParts): Output {
  const { screen, gate, context } = parts
  const { stdout, stderr } = context
  let pending = ''
  const deltas = gate.documents()
  let isStarted = false
  let isClosed = false
  const beforeStart: OutputEvent[] = []

  const write = () => {
    screen.text(pending)
    pending = ''
  }
  const put = (line: string) => {
    pending += deltas.end().join('') + gate.document(line)
    // A wait may follow.
    write()
  }
  const add = (event: OutputEvent) => {
    const isDelta = event.type.endsWith('-delta')
    if (!isDelta) checkDepth(event)
    const line = documentLine(event, stdout)
    // A secret may be split across several pieces of text.
    if (isDelta) pending += deltas.push(line).join('')
    else put(line)
  }
  const last = (line: string) => {
    if (isClosed) return write()
    isClosed = true
    put(line)
  }
  return createResultOutput(withoutErrors(parts), {
    event(event) {
      if (isClosed) return
      if (!isStarted && event.type !== 'start') return void beforeStart.push(event)
      isStarted = true
      add(event)
      for (const earlier of beforeStart.splice(0)) add(earlier)
    },
    flush: async () => write(),
    async end(document) {
      checkDepth(document)
      last(documentLine({ type: 'end', ...document }, stdout))
    },
    async error(error) {
      last(gate.json(documentLine({ type: 'error', ...errorDocument(error) }, stdout)))
      // If standard output is closed or full, the failure is reported on standard error.
      await screen.close().catch(() => {
        screen.json(documentText(errorDocument(error), stderr))
      })
    },
  })
}

/** Indented and safe on a terminal, on one line elsewhere. No newline at the end. */
function documentText(document: unknown, sink: Sink): string {
  return sink.isTerminal ? sanitiseJson(JSON.stringify(document, undefined, 2)) : JSON.stringify(document)
}

function documentLine(document: unknown, sink: Sink): string {
  const json = JSON.stringify(document)
  return `${sink.isTerminal ? sanitiseJson(json) : json}\n`
}

export function errorDocument(error: ModelgateError): ErrorDocument {
  const { facts } = error
  return {
    error: {
      code: error.code,
      exit_code: error.exitCode,
      phase: facts.phase ?? null,
      http_status: facts.httpStatus ?? null,
      request_id: facts.requestId ?? null,
      retry_after_s: facts.retryAfterS ?? null,
      billed: billedOf(error),
      message: error.message,
      hint: facts.hint ?? null,
      next: facts.next ?? null,
      remote_id: facts.remoteId ?? null,
      rescued: facts.rescued ?? [],
    },
  }
}

/** @throws ContractError if the gateway's part of it is nested too deeply to be printed */
function checkDepth(part: OutputDocument | OutputEvent): void {
  if (!Object.values(part).some(isTooDeep)) return
  const message = `The reply is nested more than ${maxJsonDepth} levels deep.`
  const hint = 'Use --raw to see the reply as it was received.'
  throw new ContractError('reply_not_understood', message, { hint })
}

function isTooDeep(part: unknown): boolean {
  return isDeeperThan(part, maxJsonDepth)
}

/** The report of an error must not fail itself. */
function withoutDeepParts(document: OutputDocument): object {
  const reduced = (value: unknown) => (Array.isArray(value) ? value.filter((part) => !isTooDeep(part)) : null)
  const entries = Object.entries(document).map(([name, value]: [string, unknown]) => {
    return [name, isTooDeep(value) ? reduced(value) : value]
  })
  return Object.fromEntries(entries) as object
}

/** `--raw`: the gateway's own JSON without secrets, unchanged but for control characters on a terminal. */
export function createRawOutput(parts: RendererParts): Output {
  const { screen, gate, context } = parts
  const documents = gate.documents()
  let pending = ''
  const add = (texts: readonly string[]) => void (pending += texts.join(''))
  const write = () => {
    screen.text(context.stdout.isTerminal ? sanitise(pending) : pending)
    pending = ''
  }
  const finish = async () => {
    add(documents.end())
    write()
  }
  return createResultOutput(parts, {
    before: write,
    raw: (text) => add(documents.push(text.endsWith('\n') ? text : `${text}\n`)),
    flush: async () => write(),
    end: finish,
    error: finish,
  })
}

export function createReplyWriter(context: Context, gate: Gate, rescue: RescuePlace) {
  const sink = openRescueSink(context, rescue)
  const stream = gate.reply()
  /** Nothing needs no line feed at its end. */
  let endsLine = true
  let isClosed = false

  const put = async (piece: Uint8Array | string) => {
    sink.write(piece)
    await sink.drain().catch((error: unknown) => {
      isClosed = true
      throw error
    })
  }
  return {
    async write(chunk: Uint8Array): Promise<void> {
      endsLine = chunk.at(-1) === '\n'.charCodeAt(0)
      await put(stream.push(chunk))
    },
    async commit(): Promise<void> {
      if (isClosed) return
      await put(stream.end())
      if (!endsLine) await put('\n')
      const rescued = await sink.end()
      if (rescued !== undefined) throw rescued
    },
  }
}
