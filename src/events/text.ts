/**
 * The common form of both text styles: one set of events, one set of finish reasons, one document. The same names are
 * the lines of `--jsonl` and the fields of `--json`; they are never removed.
 */

import { responseStates } from '../contract/response-object.ts'
import { cost } from './cost.ts'
import {
  anything,
  count,
  countOrNull,
  define,
  flag,
  list,
  object,
  oneOf,
  orNull,
  text,
  textMatching,
  textOrNull,
  texts,
  version,
  type EventsOf,
  type Infer,
} from './fields.ts'

/** Why the text ended, for both styles. */
const finishReasons = [
  'stop',
  'length',
  'tool_calls',
  'content_filter',
  'refusal',
  'cancelled',
  'error',
  'other',
  'unknown',
] as const
export type FinishReason = (typeof finishReasons)[number]

/** Token counts, the same names for both styles and for images. */
export const usageFields = {
  input_tokens: countOrNull('tokens of the input'),
  cached_tokens: countOrNull('of them read from a cache'),
  output_tokens: countOrNull('tokens of the output, reasoning included'),
  reasoning_tokens: countOrNull('of them spent on reasoning'),
  total_tokens: countOrNull('all tokens'),
}

export type Usage = Infer<typeof usage.schema>
const usage = define('usage', object(usageFields))

export type ToolCall = Infer<typeof toolCall.schema>
const toolCall = define(
  'tool_call',
  object({
    type: oneOf(['function', 'custom'], 'whether the arguments are JSON, or the text of a custom tool'),
    id: textOrNull('id that the result of the call must name'),
    name: text('name of the tool'),
    arguments: anything('the arguments as JSON; the text as received when it is not JSON'),
  }),
)

export type Citation = Infer<typeof citation.schema>
const citation = define(
  'citation',
  object({
    url: textOrNull('address of the source'),
    title: textOrNull('title of the source'),
    start: countOrNull("start in the text, in the gateway's own counting"),
    end: countOrNull("end in the text, in the gateway's own counting"),
    license: textOrNull('licence of the source'),
    file_id: textOrNull('id of the cited file'),
  }),
)

const candidate = define(
  'candidate',
  object({
    index: count('number of the candidate'),
    text: text('its text'),
    finish_reason: oneOf(finishReasons, 'why it ended'),
  }),
)

/** The fields of every file that was written. */
export const savedFileFields = {
  path: text('where the file is'),
  bytes: count('its size'),
  sha256: textMatching('^[0-9a-f]{64}$', 'its SHA-256 in hexadecimal'),
  mime_type: text('its media type'),
}

/** The fields of every result whose container was checked. */
export const verified = flag('false when it could not be verified that the file is complete')

/** The fields of one of several results that could not be saved. */
export const failureFields = (noun: 'image' | 'video') => ({
  index: count(`number of the ${noun}`),
  code: text('a stable word'),
  message: text('what went wrong'),
  rescued: textOrNull('where it was saved instead, when it could not be written where it belongs'),
})

/** A field of the request that a result does not fulfil. */
export type Mismatch = Infer<typeof mismatch.schema>
const mismatch = define(
  'mismatch',
  object({
    index: count('number of the image or video'),
    field: text('the field of the request'),
    asked: text('the value that was asked for'),
    came: text('what came instead'),
  }),
)

/** The field of a document that lists them. */
export const mismatches = list(mismatch.reference, 'results that are not what was asked for')

export const warnings = texts('warnings of the command')

/** A file this program wrote. */
export type SavedFile = Infer<typeof file.schema>
export const file = define('file', object(savedFileFields))

export const textDefinitions = [usage, toolCall, citation, candidate, file, mismatch] as const

/** Events of a decoder while a reply arrives. */
export type TextEvent = EventsOf<typeof textEvents>
export const textEvents = {
  'text-delta': {
    index: count('number of the candidate'),
    text: text('a piece of its text'),
  },
  'reasoning-delta': { text: text('a piece of the reasoning') },
  'refusal-delta': { text: text('a piece of the refusal') },
  'tool-delta': {
    index: count('number of the call'),
    name: text('name of the tool'),
    arguments: text('a piece of the arguments'),
  },
  /** A complete tool call. */
  'tool-call': { index: count('number of the call'), call: toolCall.reference },
  'code-run': { language: text('language'), code: text('code that the model ran') },
  'code-result': { outcome: text('how it went'), output: text('what it printed') },
  'citation-add': { citation: citation.reference },
  /** Any other complete output item or part. */
  'item-add': {
    kind: text('kind of item'),
    summary: text('what it is, in one line'),
    item: anything("the gateway's own object"),
  },
  'safety-report': { ratings: list(anything(''), "the gateway's ratings that are not negligible") },
  'prompt-block': { reason: text('why the prompt was blocked'), message: textOrNull('in words') },
  /** An image inside a text reply; the operation saves it and emits `file-save` instead. */
  'image-data': {
    mime_type: text('media type'),
    base64: text('the image'),
    partial: flag('a preview; another will follow'),
  },
}

/** The commands that print a text document. */
const textCommands = ['generate', 'respond', 'wait', 'cancel'] as const

/** The document that `--json` prints. */
export type TextDocument = Infer<typeof textDocument>
export const textDocument = object({
  version,
  command: oneOf(textCommands, 'the command that ran'),
  model: textOrNull('the requested model; where the gateway chose, the one that its reply names'),
  text: text('the text of the first candidate'),
  extracted: textOrNull('with --extract: the code that it takes out of the text; null where there is none'),
  finish_reason: oneOf(finishReasons, 'why the text ended'),
  tool_calls: list(toolCall.reference, 'tools that the model asks to be called'),
  usage: orNull(usage.reference, 'tokens, where the gateway reports them'),
  cost,
  request_id: textOrNull('id of the request'),
  response: anything("the gateway's own object; the chunks of a stream merged into one"),
  reasoning: text('what the model shows of its reasoning'),
  refusal: text('why the model refuses'),
  candidates: list(candidate.reference, 'every candidate'),
  citations: list(citation.reference, 'sources'),
  files: list(file.reference, 'files that were written'),
  warnings,
  id: textOrNull('id of the response'),
  state: orNull(
    oneOf(responseStates, ''),
    'state of the response; null where the style has none, and while it is not known',
  ),
})

type Decoded =
  | 'text'
  | 'reasoning'
  | 'refusal'
  | 'candidates'
  | 'finish_reason'
  | 'tool_calls'
  | 'citations'
  | 'usage'
  | 'response'
  | 'state'

/** The result of a finished, failed or interrupted text reply. */
export interface TextResult extends Pick<TextDocument, Decoded> {
  /** The gateway's own finish reason. */
  readonly raw_finish_reason: string | null
  /** The gateway's explanation, if any. */
  readonly finish_message: string | null
  /** Id of the response, where the reply names one. */
  readonly response_id: string | null
  readonly model: string | null
}
