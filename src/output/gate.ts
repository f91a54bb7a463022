import { hideSpans } from '../redact/spans.ts'
import { formsOf, createMatcher } from '../redact/matcher.ts'
import { PieceStream, TextStream } from '../redact/streams.ts'
import { inCi, type Context } from '../context.ts'

type Redactor = (text: string) => string

/**
 * Removes secrets in every form in which they may be written: as they are, inside a JSON string, percent-encoded, in
 * hexadecimal, and in base64 (both alphabets, at any offset); whole, or the first 16 characters or more. A secret of
 * fewer than 8 characters stays.
 * @param isJson for JSON (one document, or one per line), which stays valid
 */
export function createRedactor(secrets: readonly string[], isJson = false): Redactor {
  const { find } = matcherOf(secrets, isJson)
  return (text) => {
    const spans = find(text)
    return spans.length === 0 ? text : hideSpans(text, spans, isJson)
  }
}

export function createStreamRedactor(secrets: readonly string[], isJson = false): TextStream {
  return new TextStream(matcherOf(secrets, isJson), isJson)
}

function matcherOf(secrets: readonly string[], isJson: boolean) {
  const forms = secrets.flatMap(formsOf)
  // One with a bare quotation mark cannot occur within one JSON string.
  return createMatcher(isJson ? forms.filter((form) => !/(?<!\\)(?:\\\\)*"/.test(form)) : forms)
}

export type CleanStream = Pick<TextStream, 'push' | 'end'>

/** By the environment of the process: what one gate has learnt, all hide. */
const learnt = new WeakMap<Context['env'], Set<string>>()

export type Gate = ReturnType<typeof createGate>

/** For all output except a result's own text or media. @param secrets besides the key in the environment */
export function createGate(context: Context, secrets: readonly string[] = []) {
  const { env } = context
  const own = [env['MODELGATE_API_KEY'] ?? '', ...secrets].filter((secret) => secret !== '')
  const shared = learnt.get(env) ?? new Set()
  learnt.set(env, shared)
  const hidden = () => [...new Set([...own, ...shared])]
  const lazily = (create: (secrets: readonly string[]) => Redactor): Redactor => {
    let made: { readonly count: number; readonly redactor: Redactor } | undefined
    return (text) => {
      if (made?.count !== shared.size) made = { count: shared.size, redactor: create(hidden()) }
      return made.redactor(text)
    }
  }
  const redact = lazily(createRedactor)
  const redactJson = lazily((secrets) => createRedactor(secrets, true))
  // A CI runner reads standard error, too, and what is reported on standard output.
  const isCi = inCi(env)
  const defused = (json: string) => (isCi ? defuseJson(json) : json)

  return {
    /** Adds a secret, for all gates of the process. Existing streams do not look for it. */
    hide: (secret: string): void => void (secret !== '' && shared.add(secret)),
    /** An id, a path or a URL. */
    text: redact,
    /** Lines about something for standard output. */
    report(text: string): string {
      const clean = redact(text)
      return isCi ? clean.split('\n').map(defuse).join('\n') : clean
    },
    /** Cleans one line for standard error; secrets are removed before it is cut to `limit` characters. */
    line(text: string, limit: number): string {
      const line = cut(sanitise(redact(text).replace(/[\r\n]+/g, ' ')), limit)
      return isCi ? defuse(line) : line
    },
    stream(): CleanStream {
      const redactor = createStreamRedactor(hidden())
      return { push: (piece) => sanitise(redactor.push(piece)), end: () => sanitise(redactor.end()) }
    },
    /** For standard error. */
    json: (text: string): string => defused(sanitiseJson(redactJson(text))),
    /** For standard output or a file: one document, or one on each line. */
    document: (json: string): string => defused(redactJson(json)),
    documents: (): PieceStream => new PieceStream(matcherOf(hidden(), true), redactJson),
    /** The bytes of a reply for standard output; on a terminal they are also sanitised. */
    reply: () => createReplyStream(createStreamRedactor(hidden(), true), Boolean(context.stdout.isTerminal)),
  }
}

function createReplyStream(stream: TextStream, isTerminal: boolean) {
  // Not on a terminal: latin1 maps each byte to one character, so the bytes stay unchanged.
  if (!isTerminal) {
    return {
      push: (chunk: Uint8Array) => Buffer.from(stream.push(Buffer.from(chunk).toString('latin1')), 'latin1'),
      end: () => Buffer.from(stream.end(), 'latin1'),
    }
  }
  const decoder = new TextDecoder()
  return {
    push: (chunk: Uint8Array) => sanitise(stream.push(decoder.decode(chunk, { stream: true }))),
    end: () => sanitise(stream.push(decoder.decode()) + stream.end()),
  }
}

function cut(text: string, limit: number): string {
  if (text.length <= limit) return text
  return `${text.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/**
 * Characters that can control a terminal: C0 except tab and newline, DEL, C1, bidirectional overrides and isolates,
 * tag characters. Replaces single characters instead of parsing sequences, so that none can be split across chunks.
 */
const unsafe = /\r\n|[\0-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/u
const everyUnsafe = new RegExp(unsafe, 'gu')

/** Makes text safe for a terminal: control characters are replaced with visible marks (`ESC` with `␛`). */
export function sanitise(text: string): string {
  return unsafe.test(text) ? text.replace(everyUnsafe, mark) : text
}

/**
 * Writes these characters as escapes, which does not change the document. For JSON without raw control characters.
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

/**
 * Takes the meaning out of a line that a CI runner would obey: `::set-env …` (GitHub, at its start), `##[group]`,
 * `##vso[…]`, `##teamcity[…]` (GitHub, Azure Pipelines and TeamCity, anywhere).
 */
export function defuse(line: string): string {
  return line.replaceAll(/##(?=\w*\[)/g, '## ').replace(/^\s*::/, (start) => `${start.slice(0, -1)} :`)
}

/** The same in JSON, which stays the same document: no line of it begins with a colon. */
export function defuseJson(json: string): string {
  return json.replaceAll(/##(?=\w*\[)/g, '#\\u0023')
}
