import { shellWord } from '../file-error.ts'
import type { CallSummary } from '../../events/call.ts'
import { objectOf, objectsOf, stringOf, type JsonObject } from '../../json.ts'

/** What a document has as null is absent. */
type Recorded<Facts> = {
  readonly [Name in keyof Facts as null extends Facts[Name] ? never : Name]: Facts[Name]
} & Optional<{ [Name in keyof Facts as null extends Facts[Name] ? Name : never]: NonNullable<Facts[Name]> }>

type Optional<Facts> = { readonly [Name in keyof Facts]?: Facts[Name] | undefined }

export type RecordedFile = Recorded<CallSummary['files'][number]>
export type RecordedInput = Recorded<CallSummary['inputs'][number]>

/** As far as prices need it; absent for calls that only look up or wait. */
export interface RecordedCreation {
  readonly images?: { readonly count: number } & Optional<{ size: string; quality: string }>
  /** Of all videos: as they play if they were saved, else as they were asked for. */
  readonly video_seconds?: number | undefined
  readonly video_size?: string | undefined
  readonly job?: string
}

type StartField = 'command' | 'cwd' | 'terminal' | 'origin' | 'profile' | 'model'

export interface CallStart extends Recorded<Pick<CallSummary, StartField>> {
  readonly sandbox?: true
}

type EndField = 'time' | 'duration_ms' | 'error' | 'request_id' | 'finish_reason'

/** How a call ended. Fields are added in later versions, and never removed. */
export interface CallEnd
  extends CallStart, Recorded<Pick<CallSummary, EndField>>, Optional<Pick<CallSummary, 'jobs' | 'rescued'>> {
  readonly exit_code: number
  readonly usage?: Readonly<Record<string, number | null>> | undefined
  readonly created?: RecordedCreation | undefined
  readonly response?: string | undefined
  readonly files: readonly RecordedFile[]
  readonly inputs?: readonly RecordedInput[] | undefined
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
  readonly read_stdin?: true | undefined
  readonly prompt?: string | undefined
  /** Media in it are replaced by references. */
  readonly request?: JsonObject | undefined
  /**
   * What a conversation continues from. Content generation: `content` of the first candidate, as without streaming.
   * Responses: `id`, `output`, `model`. Both: `text`, and `is_partial` where the answer broke off or was too long to
   * be kept.
   */
  readonly reply?: JsonObject | undefined
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
