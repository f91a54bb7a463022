import { shellWord } from '../file-error.ts'
import { objectOf, objectsOf, stringOf, type JsonObject } from '../../json.ts'

export interface RecordedFile {
  readonly path: string
  readonly bytes: number
  readonly sha256: string
  /** `png`, `mp4`, `txt`, …, from its bytes. */
  readonly format: string
  readonly width?: number
  readonly height?: number
  readonly seconds?: number
}

export interface RecordedInput {
  /** Absolute; a URL; `-` for standard input; empty where it came inside the JSON of a flag. */
  readonly path: string
  readonly bytes: number
  readonly field?: 'image' | 'mask'
}

/** As far as prices need it; absent for calls that only look up or wait. */
export interface RecordedCreation {
  readonly images?: { readonly count: number; readonly size?: string; readonly quality?: string }
  /** Of all videos: as they play if they were saved, else as they were asked for. */
  readonly video_seconds?: number
  readonly video_size?: string
  readonly job?: string
}

export interface CallStart {
  readonly command: string
  readonly cwd: string
  /** Which terminal it came from (`Context.terminalId`); absent without one. */
  readonly terminal?: string
  readonly sandbox?: true
  readonly origin?: string
  readonly profile?: string
  /** As asked for, else as the reply names it. */
  readonly model?: string
}

/** How a call ended. Fields are added in later versions, and never removed. */
export interface CallEnd extends CallStart {
  /** When the call began: ISO 8601, UTC. */
  readonly time: string
  readonly duration_ms: number
  readonly exit_code: number
  readonly error?: {
    readonly code: string
    readonly message: string
    readonly billed: 'no' | 'maybe' | 'yes'
  }
  readonly request_id?: string
  readonly finish_reason?: string
  readonly usage?: Readonly<Record<string, number | null>>
  readonly created?: RecordedCreation
  readonly response?: string
  /** Waited for, looked up or cancelled: ids of videos, operations or background responses. */
  readonly jobs?: readonly string[]
  readonly files: readonly RecordedFile[]
  readonly rescued?: readonly string[]
  readonly inputs?: readonly RecordedInput[]
}

export interface CallFacts extends Omit<CallEnd, 'exit_code'> {
  readonly id: string
  /** Null for one that was killed, or is under way. */
  readonly exit_code: number | null
}

/** What is kept of a call in a file of its own, unless `history` is `off`. */
export interface CallWords {
  /** The command line as typed; of the content of a `data:` URL only `…` is kept. */
  readonly arguments?: readonly string[]
  /** Whether standard input was read. */
  readonly read_stdin?: true
  readonly prompt?: string
  /** Media in it are replaced by references. */
  readonly request?: JsonObject
  /**
   * What a conversation continues from. Content generation: `content` of the first candidate, as without streaming.
   * Responses: `id`, `output`, `model`. Both: `text`, and `is_partial` where the answer broke off or was too long to
   * be kept.
   */
  readonly reply?: JsonObject
}

/** How much of an id is shown; commands take any beginning that is unique. */
export const shownIdLength = 8

/** The text of an answer stands once: in its items or parts, if they hold all of it. */
export function withoutText({ text, ...reply }: JsonObject): JsonObject {
  return text !== undefined && text === textIn(reply) ? reply : { text, ...reply }
}

export function withText(reply: JsonObject): JsonObject {
  return reply['text'] === undefined ? { text: textIn(reply), ...reply } : reply
}

function textIn({ content, output }: JsonObject): string {
  const parts = objectsOf(objectOf(content)['parts']).filter((part) => part['thought'] !== true)
  const blocks = objectsOf(output)
    .filter((item) => item['type'] === 'message')
    .flatMap((item) => objectsOf(item['content']))
    .filter((block) => block['type'] === 'output_text')
  return [...parts, ...blocks].map((part) => stringOf(part['text']) ?? '').join('')
}

/**
 * What it read on standard input has to be given again: until then the shell finds no file of the name `INPUT`, and
 * nothing is sent. Undefined for a chat, and where no words were kept.
 */
export function lineOf(
  { command, cwd }: Pick<CallFacts, 'command' | 'cwd'>,
  { arguments: words, read_stdin: isInputLost }: CallWords,
  here: string,
): string | undefined {
  if (words === undefined || command === 'chat' || words.some((word) => /^data:.*,…$/i.test(word)))
    return undefined
  const change = cwd === here || cwd === '' ? '' : `cd ${shellWord(cwd)} && `
  return `${change}${['modelgate', ...words].map(shellWord).join(' ')}${isInputLost ? ' < INPUT' : ''}`
}
