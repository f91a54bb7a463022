import { inCi, type Context } from '../context.ts'
import {
  createJsonRedactor,
  createJsonStreamRedactor,
  createPieceRedactor,
  createRedactor,
  createStreamRedactor,
} from './redact.ts'
import type { PieceStream, TextStream } from './redact/streams.ts'

/**
 * Everything that leaves the program and is not a result's own text or media goes through the gate: it removes secrets,
 * and whatever could act on a terminal.
 */
export interface Gate {
  /** Adds a secret that has become known. Streams that exist already do not look for it. */
  hide(secret: string): void
  /** An id, a path, a URL: without secrets. */
  text(text: string): string
  /** One line for standard error, at most `limit` characters long. */
  line(text: string, limit: number): string
  /** Text for standard error that comes in pieces. */
  stream(): TextStream
  /** A JSON document for standard error. */
  json(text: string): string
  /** JSON without secrets, for standard output or a file: one document, or one on each line. */
  document(json: string): string
  /** JSON documents whose strings may be pieces of one text. */
  documents(): PieceStream
  /** The bytes of a reply for standard output, unchanged but for secrets; sanitised on a terminal. */
  reply(): ReplyStream
}

/** Bytes that come in pieces; what can be passed on is returned. */
export interface ReplyStream {
  push(chunk: Uint8Array): Uint8Array | string
  end(): Uint8Array | string
}

/** @param secrets known already; the key in the environment is always one */
export function createGate(context: Context, secrets: readonly string[] = []): Gate {
  const { MODELGATE_API_KEY: ownKey = '' } = context.env
  const hidden = new Set([ownKey, ...secrets].filter((secret) => secret !== ''))
  const redact = lazily(createRedactor)
  const redactJson = lazily(createJsonRedactor)
  const isCi = inCi(context.env)

  /** Created when it is first needed, and again when there is another secret. */
  function lazily(create: (secrets: readonly string[]) => (text: string) => string) {
    let made: { readonly count: number; readonly redactor: (text: string) => string } | undefined
    return (text: string) => {
      if (made?.count !== hidden.size) made = { count: hidden.size, redactor: create([...hidden]) }
      return made.redactor(text)
    }
  }
  return {
    hide: (secret) => void (secret !== '' && hidden.add(secret)),
    text: redact,
    // Secrets are removed before a line is cut. In CI no line may look like a command to the runner
    // (`::set-env …`, `##[group]`), which reads standard error too.
    line(text, limit) {
      const line = cut(sanitise(redact(text).replace(/[\r\n]+/g, ' ')), limit)
      return isCi
        ? line.replaceAll('##[', '## [').replace(/^\s*::/, (start) => `${start.slice(0, -1)} :`)
        : line
    },
    stream() {
      const redactor = createStreamRedactor([...hidden])
      return {
        push: (piece) => sanitise(redactor.push(piece)),
        end: () => sanitise(redactor.end()),
        get kept() {
          return redactor.kept
        },
        get hasHidden() {
          return redactor.hasHidden
        },
      }
    },
    json(text) {
      const json = sanitiseJson(redactJson(text))
      return isCi ? json.replaceAll('##[', '#\\u0023[') : json
    },
    document: redactJson,
    documents: () => createPieceRedactor([...hidden]),
    reply: () => createReplyStream(createJsonStreamRedactor([...hidden]), Boolean(context.stdout.isTerminal)),
  }
}

/** Except on a terminal, each byte is decoded as one character, so that it stays unchanged. */
function createReplyStream(stream: TextStream, isTerminal: boolean): ReplyStream {
  if (!isTerminal) {
    return {
      push: (chunk) => Buffer.from(stream.push(Buffer.from(chunk).toString('latin1')), 'latin1'),
      end: () => Buffer.from(stream.end(), 'latin1'),
    }
  }
  const decoder = new TextDecoder()
  return {
    push: (chunk) => sanitise(stream.push(decoder.decode(chunk, { stream: true }))),
    end: () => sanitise(stream.push(decoder.decode()) + stream.end()),
  }
}

/** Counts code units, but never splits a character. */
function cut(text: string, limit: number): string {
  if (text.length <= limit) return text
  return `${text.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/**
 * Characters that could act on a terminal: C0 but tab and newline, DEL, C1, the bidirectional overrides and isolates,
 * tag characters. Single characters are replaced instead of parsing sequences, so that none can hide between chunks.
 */
const unsafe = /\r\n|[\0-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/u
const everyUnsafe = new RegExp(unsafe, 'gu')

/** Text that is safe on a terminal: characters that could act on it are replaced with a visible mark (`ESC` with `␛`). */
export function sanitise(text: string): string {
  return unsafe.test(text) ? text.replace(everyUnsafe, mark) : text
}

/**
 * JSON in which these characters are written as escapes: the same document, safe on a terminal.
 * Only for JSON without raw control characters, as `JSON.stringify` makes it.
 */
export function sanitiseJson(json: string): string {
  return unsafe.test(json) ? json.replace(everyUnsafe, escapeUnits) : json
}

function mark(character: string): string {
  if (character === '\r\n') return '\n'
  const code = character.codePointAt(0)!
  if (code < 0x20) return String.fromCodePoint(0x2400 + code)
  return code === 0x7f ? '␡' : `\\u{${code.toString(16)}}`
}

function escapeUnits(character: string): string {
  return Array.from({ length: character.length }, (_, index) => {
    return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`
  }).join('')
}
