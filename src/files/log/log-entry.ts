import { shellWord } from '../file-error.ts'
import { isObject, objectOf, objectsOf, stringOf, type JsonObject } from '../../json.ts'

/** A file that a call wrote. */
export interface LoggedFile {
  /** Absolute. */
  readonly path: string
  readonly bytes: number
  /** In hexadecimal. */
  readonly sha256: string
  /** `png`, `mp4`, `txt`, …, from its bytes. */
  readonly format: string
  readonly width?: number
  readonly height?: number
  /** How long a video plays. */
  readonly seconds?: number
}

/** Media that a call sent. */
export interface LoggedInput {
  /** Absolute; a URL; `-` for standard input; empty where it came inside the JSON of a flag. */
  readonly path: string
  readonly bytes: number
  /** Of an image edit, which sends files beside its body: `image` or `mask`. */
  readonly field?: 'image' | 'mask'
}

/** What a call created, as far as prices need it; absent for calls that only look up or wait. */
export interface LoggedCreation {
  readonly images?: { readonly count: number; readonly size?: string; readonly quality?: string }
  /** Of all videos: as they play if they were saved, else as they were asked for; absent if neither is known. */
  readonly video_seconds?: number
  /** As it was asked for: `720p`, `1280x720`. */
  readonly video_size?: string
  /** Id of the video, operation or background response. */
  readonly job?: string
}

/** What is recorded of every call, also with `history: metadata`. */
export interface LogFacts {
  /** 1; incremented when the meaning of a field changes. Fields are added without that, and never removed. */
  readonly version: number
  /** Unique: `log_` and 16 hexadecimal digits. */
  readonly id: string
  /** When the call began: ISO 8601, UTC. */
  readonly time: string
  readonly duration_ms: number
  /** `generate`, `image create`, `wait`, … */
  readonly command: string
  /** The working directory. */
  readonly cwd: string
  /** Which terminal it came from (`Context.terminalId`); absent without one. */
  readonly terminal?: string
  readonly sandbox?: true
  /** Of the base URL. */
  readonly origin?: string
  /** Absent for the default one. */
  readonly profile?: string
  /** As asked for, else as the reply names it. */
  readonly model?: string
  /** The exit code of the program. */
  readonly exit_code: number
  readonly error?: {
    readonly code: string
    readonly message: string
    readonly billed: 'no' | 'maybe' | 'yes'
  }
  readonly request_id?: string
  readonly finish_reason?: string
  /** As in the document of the command. */
  readonly usage?: Readonly<Record<string, number | null>>
  readonly created?: LoggedCreation
  /** The jobs that it waited for, looked up or cancelled: ids of videos, operations or background responses. */
  readonly jobs?: readonly string[]
  readonly files: readonly LoggedFile[]
  readonly inputs?: readonly LoggedInput[]
}

/** One call that sent a request. */
export interface LogEntry extends LogFacts {
  // Only with `history: full`. In JSON these follow the facts, `arguments` first.
  /** The command line as typed; of the content of a `data:` URL only `…` is kept. */
  readonly arguments?: readonly string[]
  /** Whether standard input was read. */
  readonly read_stdin?: true
  readonly prompt?: string
  /** The body; media in it are replaced by references (`mediaReference`). */
  readonly request?: JsonObject
  /**
   * What a conversation goes on from. Content generation: `content` of the first candidate, as the gateway would have
   * sent it without streaming. Responses: `id`, `output`, `model`. Both: `text`, and `is_partial` where the answer broke
   * off or was too long to be kept.
   */
  readonly reply?: JsonObject
}

/** In a line, what only `history: full` has begins here; inside a string its quotes would be escaped. */
const fullPart = ',"arguments":['

/** A line ends with the id that it begins with, unless it was cut. */
const endOf = (id: string) => `,"end":"${id}"}`

/** One line of the log, without its newline: the facts come first, so that they can be read alone. */
export function encodeEntry(entry: LogEntry): string {
  const { arguments: words, read_stdin, prompt, request, reply, ...facts } = entry
  const kept = reply && withoutText(reply)
  const full = words === undefined ? {} : { arguments: words, read_stdin, prompt, request, reply: kept }
  return JSON.stringify({ ...facts, ...full, end: entry.id })
}

/** In a line, the text of an answer stands once: in its items or parts, if they hold all of it. */
function withoutText({ text, ...reply }: JsonObject): JsonObject {
  return text !== undefined && text === textIn(reply) ? reply : { text, ...reply }
}

/** The text of the parts (content generation) or of the messages (responses) that a reply consists of. */
function textIn({ content, output }: JsonObject): string {
  const parts = objectsOf(objectOf(content)['parts']).filter((part) => part['thought'] !== true)
  const blocks = objectsOf(output)
    .filter((item) => item['type'] === 'message')
    .flatMap((item) => objectsOf(item['content']))
    .filter((block) => block['type'] === 'output_text')
  return [...parts, ...blocks].map((part) => stringOf(part['text']) ?? '').join('')
}

/** A line of the log. Fields that are not as described are left out: a later version may have written them. */
export interface DecodedLine {
  readonly facts: LogFacts
  /** The whole entry. */
  entry(): LogEntry
  text(): string
}

/** Reads only the facts at first, which is faster than all of it. Undefined for a line that is no entry. */
export function decodeLine(line: Buffer): DecodedLine | undefined {
  const text = () => line.toString()
  const head = line.indexOf(fullPart)
  const facts = head === -1 ? decodeEntry(text()) : checkedEntry(parsed(`${line.toString('utf8', 0, head)}}`))
  const end = facts === undefined ? '' : endOf(facts.id)
  if (facts !== undefined && line.toString('latin1', line.length - end.length) === end) {
    return { facts, entry: () => decodeEntry(text()) ?? facts, text }
  }
  const entry = decodeEntry(text())
  if (entry !== undefined) return { facts: entry, entry: () => entry, text }
  // A process was killed while it wrote, and another appended its entry before anything could tell that.
  const start = line.lastIndexOf('{"version":1,"id":"log_')
  return start > 0 ? decodeLine(line.subarray(start)) : undefined
}

const idStart = '{"version":1,"id":"'.length
const idLength = 'log_0123456789abcdef'.length

/** The id of an entry, without reading the rest: a whole line ends with the id that it begins with. */
export function idOfLine(line: Buffer): string | undefined {
  const id = line.toString('latin1', idStart, idStart + idLength)
  const end = endOf(id)
  const isWhole = id.startsWith('log_') && line.toString('latin1', line.length - end.length) === end
  return isWhole ? id : undefined
}

function decodeEntry(line: string): LogEntry | undefined {
  const value = parsed(line)
  if (isObject(value)) delete (value as { end?: unknown }).end
  const entry = checkedEntry(value)
  if (entry?.reply === undefined || entry.reply['text'] !== undefined) return entry
  return { ...entry, reply: { text: textIn(entry.reply), ...entry.reply } }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

/** The value itself where it is as described, which it nearly always is. */
function checkedEntry(value: unknown): LogEntry | undefined {
  if (!isObject(value)) return undefined
  let isAsDescribed = true
  for (const name in value) {
    if (!isDescribed(name, value[name])) isAsDescribed = false
  }
  if (isAsDescribed && always.every((name) => value[name] !== undefined)) return value as unknown as LogEntry
  if (!required.every((name) => checks[name]!(value[name]))) return undefined
  const known = Object.entries(value).filter(([name, field]) => name !== 'end' && isDescribed(name, field))
  return {
    duration_ms: 0,
    cwd: '',
    exit_code: 0,
    files: [],
    ...Object.fromEntries(known),
  } as unknown as LogEntry
}

/** A name may be one that every object has. */
function isDescribed(name: string, value: unknown): boolean {
  return Object.hasOwn(checks, name) && checks[name]!(value)
}

type Check = (value: unknown) => boolean

const isText: Check = (value) => typeof value === 'string'
const isNumber: Check = (value) => typeof value === 'number'
const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check)
const isInput: Check = (value) => isObject(value) && isText(value['path']) && isNumber(value['bytes'])
const isFile: Check = (value) => isInput(value) && isText((value as JsonObject)['sha256'])
const isError: Check = (value) => isObject(value) && isText(value['code']) && isText(value['message'])

const isoTime = /^\d{4}-(?:0\d|1[0-2])-(?:[0-2]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?Z$/

const required = ['version', 'id', 'time', 'command']
const always = [...required, 'duration_ms', 'cwd', 'exit_code', 'files']
const checks: Readonly<Record<string, Check>> = {
  version: isNumber,
  id: isText,
  time: (value) => typeof value === 'string' && isoTime.test(value),
  duration_ms: isNumber,
  command: isText,
  cwd: isText,
  terminal: isText,
  sandbox: (value) => value === true,
  origin: isText,
  profile: isText,
  model: isText,
  exit_code: isNumber,
  error: isError,
  request_id: isText,
  finish_reason: isText,
  usage: isObject,
  created: isObject,
  jobs: isListOf(isText),
  files: isListOf(isFile),
  inputs: isListOf(isInput),
  arguments: isListOf(isText),
  read_stdin: (value) => value === true,
  prompt: isText,
  request: isObject,
  reply: isObject,
}

/**
 * The line to paste that makes a call again. What it read on standard input has to be given again: until then the shell
 * finds no file of the name `INPUT`, and nothing is sent. Undefined for a chat, and where the log lacks a part of it.
 * @param here the working directory
 */
export function lineOf(
  { arguments: words, command, cwd, read_stdin: isInputLost }: LogEntry,
  here: string,
): string | undefined {
  if (words === undefined || command === 'chat' || words.some((word) => /^data:.*,…$/i.test(word)))
    return undefined
  const change = cwd === here || cwd === '' ? '' : `cd ${shellWord(cwd)} && `
  return `${change}${['modelgate', ...words].map(shellWord).join(' ')}${isInputLost ? ' < INPUT' : ''}`
}
