import type { Sink } from '../context.ts'
import { sanitiseJson } from './sanitise.ts'

/** A document as it is printed: indented and safe to show on a terminal, on one line elsewhere. No newline at the end. */
export function documentText(document: unknown, sink: Sink): string {
  return sink.isTerminal ? sanitiseJson(JSON.stringify(document, undefined, 2)) : JSON.stringify(document)
}

/** A document as one line of `--jsonl`, with its newline. */
export function documentLine(document: unknown, sink: Sink): string {
  const json = JSON.stringify(document)
  return `${sink.isTerminal ? sanitiseJson(json) : json}\n`
}
