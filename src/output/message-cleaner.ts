import type { Context } from '../context.ts'
import { inCi } from './in-ci.ts'
import { createJsonRedactor, createRedactor } from './redact.ts'
import { sanitise, sanitiseJson } from './sanitise.ts'

/** Makes anything safe for standard error, wherever it came from. */
export interface MessageCleaner {
  /** One line, at most `limit` characters long. */
  line(text: string, limit: number): string
  /** Running text; may have many lines. */
  words(text: string): string
  /** A JSON document; it stays the same document. */
  json(text: string): string
}

/**
 * The order matters: a secret is removed while it is whole, before a line is cut.
 * In CI no line may look like a command to the runner (`::set-env …`, `##[group]`), which reads standard error too.
 */
export function createMessageCleaner(context: Context, secrets: readonly string[]): MessageCleaner {
  const redact = createRedactor(secrets)
  const redactJson = createJsonRedactor(secrets)
  const guarded = inCi(context.env)
  return {
    line(text, limit) {
      const line = cut(sanitise(redact(text).replace(/[\r\n]+/g, ' ')), limit)
      return guarded
        ? line.replaceAll('##[', '## [').replace(/^\s*::/, (start) => `${start.slice(0, -1)} :`)
        : line
    },
    words: (text) => sanitise(redact(text)),
    json(text) {
      const json = sanitiseJson(redactJson(text))
      return guarded ? json.replaceAll('##[', '#\\u0023[') : json
    },
  }
}

/** Counts code units, but never cuts a character in two. */
function cut(text: string, limit: number): string {
  if (text.length <= limit) return text
  return `${text.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
