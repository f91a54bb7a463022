import type { Sink } from '../context.ts'
import { OutputClosed } from '../errors.ts'
import type { OutputEvent } from '../contract/output-event.ts'
import { checkDocumentDepth, checkEventDepth } from './depth.ts'
import { errorDocument } from './error-document.ts'
import { documentLine, documentText } from './json-text.ts'
import type { Gate } from './gate.ts'
import type { Notices } from './notices.ts'
import type { Output } from './output.ts'
import type { Screen } from './screen.ts'
import { usageOf } from './usage.ts'

export interface JsonLinesOutputParts {
  readonly screen: Screen
  readonly notices: Notices
  readonly stdout: Sink
  readonly stderr: Sink
  readonly gate: Gate
}

/**
 * `--jsonl`: every event is a line, `start` the first; exactly one line, `end` or `error`, is the last.
 * Events of the reply are written by `flush`, together; those that precede a wait at once.
 */
export function createJsonLinesOutput({
  screen,
  notices,
  stdout,
  stderr,
  gate,
}: JsonLinesOutputParts): Output {
  let pending = ''
  const deltas = gate.documents()
  let started = false
  let closed = false
  const beforeStart: OutputEvent[] = []

  const write = () => {
    screen.text(pending)
    pending = ''
  }
  const add = (event: OutputEvent) => {
    checkEventDepth(event)
    const line = documentLine(event, stdout)
    if (deltaEvents.has(event.type)) return void (pending += deltas.push(line).join(''))
    pending += deltas.end().join('')
    if (!commandEvents.has(event.type)) return void (pending += gate.document(line))
    pending += gate.json(line)
    write()
  }
  const last = (line: string) => {
    if (!closed) pending += deltas.end().join('') + gate.document(line)
    closed = true
    write()
  }
  return {
    event(event) {
      notices.event(event)
      if (closed) return
      if (!started && event.type !== 'start') {
        beforeStart.push(event)
        return
      }
      started = true
      add(event)
      for (const earlier of beforeStart.splice(0)) add(earlier)
    },
    raw() {},
    async flush() {
      write()
      await screen.settle()
    },
    async end(document) {
      checkDocumentDepth(document)
      last(documentLine({ type: 'end', ...document }, stdout))
      notices.end(usageOf(document))
      await screen.close()
    },
    async error(error) {
      if (error instanceof OutputClosed) return screen.closeAfterError()
      last(gate.json(documentLine({ type: 'error', ...errorDocument(error) }, stdout)))
      // Where standard output has gone or is full, the failure is told on the other stream.
      await screen.close().catch(() => {
        screen.json(documentText(errorDocument(error), stderr))
      })
    },
  }
}

/** The pieces of texts, in which a secret may be split. */
const deltaEvents: ReadonlySet<OutputEvent['type']> = new Set([
  'text-delta',
  'reasoning-delta',
  'refusal-delta',
  'tool-delta',
])

/** The program's own words, which may quote the gateway; a wait may follow each. */
const commandEvents: ReadonlySet<OutputEvent['type']> = new Set([
  'start',
  'file-save',
  'retry-wait',
  'warning-add',
  'job-create',
  'job-progress',
  'poll-fail',
  'download-progress',
  'video-save',
  'video-fail',
])
