/** The common form of both text styles: one set of events, one set of finish reasons, one document. */

import { responseStates } from '../contract/response-object.ts'
import * as f from './fields.ts'

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

export const usageFields = {
  input_tokens: f.countOrNull('tokens of the input'),
  cached_tokens: f.countOrNull('of them read from a cache'),
  output_tokens: f.countOrNull('tokens of the output, reasoning included'),
  reasoning_tokens: f.countOrNull('of them spent on reasoning'),
  total_tokens: f.countOrNull('all tokens'),
}

export type Usage = f.Infer<typeof usage>
const usage = f.shape('usage', usageFields)

export type ToolCall = f.Infer<typeof toolCall>
const toolCall = f.shape('tool_call', {
  type: f.oneOf(['function', 'custom'], 'whether the arguments are JSON, or the text of a custom tool'),
  id: f.textOrNull('id that the result of the call must name'),
  name: f.text('name of the tool'),
  arguments: f.anything('the arguments as JSON; the text as received when it is not JSON'),
})

export type Citation = f.Infer<typeof citation>
const citation = f.shape('citation', {
  url: f.textOrNull('address of the source'),
  title: f.textOrNull('title of the source'),
  start: f.countOrNull("start in the text, in the gateway's own counting"),
  end: f.countOrNull("end in the text, in the gateway's own counting"),
  license: f.textOrNull('licence of the source'),
  file_id: f.textOrNull('id of the cited file'),
})

const candidate = f.shape('candidate', {
  index: f.count('number of the candidate'),
  text: f.text('its text'),
  finish_reason: f.oneOf(finishReasons, 'why it ended'),
})

export const savedFileFields = {
  path: f.text('where the file is'),
  bytes: f.count('its size'),
  sha256: f.sha256('its SHA-256 in hexadecimal'),
  mime_type: f.text('its media type'),
}

export const verified = f.flag('false when it could not be verified that the file is complete')

export const failureFields = (noun: 'image' | 'video') => ({
  index: f.count(`number of the ${noun}`),
  code: f.text('a stable word'),
  message: f.text('what went wrong'),
  rescued: f.textOrNull('where it was saved instead, when it could not be written where it belongs'),
})

export type Mismatch = f.Infer<typeof mismatch>
const mismatch = f.shape('mismatch', {
  index: f.count('number of the image or video'),
  field: f.text('the field of the request'),
  asked: f.text('the value that was asked for'),
  came: f.text('what arrived instead'),
})

export const mismatches = f.list('results that are not what was asked for', mismatch)

export type CostEstimate = f.Infer<typeof estimate>
export const estimate = f.shape('cost', {
  amount: f.numberOrNull('how much, by the prices of the configuration; null when it is not known'),
  currency: f.textOrNull('the currency of those prices; null with an unknown amount'),
  estimate: f.flag('true: only the invoice knows what a call really costs'),
  reason: f.textOrNull('why the amount is not known, or why it is 0'),
})

export const cost = f.orNull(
  'an estimate of what the call has cost; null without prices in the configuration, and for look-ups',
  estimate,
)

export type SavedFile = f.Infer<typeof file>
export const file = f.shape('file', savedFileFields)

export type TextEvent = f.EventsOf<typeof textEvents>
export const textEvents = {
  'text-delta': {
    index: f.count('number of the candidate'),
    text: f.text('a piece of its text'),
  },
  'reasoning-delta': { text: f.text('a piece of the reasoning') },
  'refusal-delta': { text: f.text('a piece of the refusal') },
  'tool-delta': {
    index: f.count('number of the call'),
    name: f.text('name of the tool'),
    arguments: f.text('a piece of the arguments'),
  },
  'tool-call': { index: f.count('number of the call'), call: toolCall },
  'code-run': { language: f.text('language'), code: f.text('code that the model ran') },
  'code-result': { outcome: f.text('how it went'), output: f.text('what it printed') },
  'citation-add': { citation: citation },
  'item-add': {
    kind: f.text('kind of item'),
    summary: f.text('what it is, in one line'),
    item: f.anything("the gateway's own object"),
  },
  'safety-report': { ratings: f.list("the gateway's ratings that are not negligible", f.anything('')) },
  'prompt-block': { reason: f.text('why the prompt was blocked'), message: f.textOrNull('in words') },
  /** An image inside a text reply; the operation saves it and emits `file-save` instead. */
  'image-data': {
    mime_type: f.text('media type'),
    base64: f.text('the image'),
    partial: f.flag('a preview; another will follow'),
  },
}

export type TextDocument = f.Infer<typeof textDocument>
export const textDocument = f.plainDocument(['generate', 'respond', 'wait', 'cancel'], {
  model: f.textOrNull('the requested model; where the gateway chose, the one that its reply names'),
  text: f.text('the text of the first candidate'),
  extracted: f.textOrNull('with --extract: the code that it takes out of the text; null where there is none'),
  finish_reason: f.oneOf(finishReasons, 'why the text ended'),
  tool_calls: f.list('tools that the model asks to be called', toolCall),
  usage: f.orNull('tokens, where the gateway reports them', usage),
  cost,
  request_id: f.textOrNull('id of the request'),
  response: f.anything("the gateway's own object; the chunks of a stream merged into one"),
  reasoning: f.text('what the model shows of its reasoning'),
  refusal: f.text('why the model refuses'),
  candidates: f.list('every candidate', candidate),
  citations: f.list('sources', citation),
  files: f.list('files that were written', file),
  warnings: f.warnings,
  id: f.textOrNull('id of the response'),
  state: f.orNull(
    'state of the response; null where the style has none, and while it is not known',
    f.oneOf(responseStates, ''),
  ),
})

/** What the program adds to what is decoded. */
type Added = 'version' | 'command' | 'extracted' | 'cost' | 'request_id' | 'files' | 'warnings' | 'id'

export interface TextResult extends Omit<TextDocument, Added> {
  /** The gateway's own finish reason. */
  readonly raw_finish_reason: string | null
  readonly finish_message: string | null
  readonly response_id: string | null
}
