/**
 * What both text styles are decoded into: one event vocabulary, one finish-reason vocabulary, one document.
 * The same names are the lines of `--jsonl` and the fields of `--json`; they only ever grow.
 */

/** Why the text ended, in one vocabulary for both styles. */
export const finishReasons = [
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

/** Token counts, the same names for both styles; `output_tokens` includes reasoning. */
export interface Usage {
  readonly input_tokens: number | null
  readonly cached_tokens: number | null
  readonly output_tokens: number | null
  readonly reasoning_tokens: number | null
  readonly total_tokens: number | null
}

export interface ToolCall {
  readonly id: string | null
  readonly name: string
  /** The arguments as an object when they are JSON, else the text as it came. */
  readonly arguments: unknown
}

export interface Citation {
  readonly url: string | null
  readonly title: string | null
  /** Where in the text, in the gateway's own counting; null when it does not say. */
  readonly start: number | null
  readonly end: number | null
}

export interface Candidate {
  readonly index: number
  readonly text: string
  readonly finish_reason: FinishReason
}

/** A file this program wrote. */
export interface SavedFile {
  readonly path: string
  readonly bytes: number
  readonly sha256: string
  readonly mime_type: string
}

/** What a decoder reports while a reply arrives. */
export type TextEvent =
  /** Visible text. `index` numbers the candidate (content generation) or is 0 (responses). */
  | { readonly type: 'text-delta'; readonly index: number; readonly text: string }
  | { readonly type: 'reasoning-delta'; readonly text: string }
  | { readonly type: 'refusal-delta'; readonly text: string }
  /** A piece of a tool call's arguments; `index` numbers the call. */
  | { readonly type: 'tool-delta'; readonly index: number; readonly name: string; readonly arguments: string }
  /** A whole tool call. */
  | { readonly type: 'tool-call'; readonly index: number; readonly call: ToolCall }
  | { readonly type: 'code-run'; readonly language: string; readonly code: string }
  | { readonly type: 'code-result'; readonly outcome: string; readonly output: string }
  | { readonly type: 'citation-add'; readonly citation: Citation }
  /** Any other output item or part, whole, with one line that says what it is. */
  | { readonly type: 'item-add'; readonly kind: string; readonly summary: string; readonly item: unknown }
  /** Safety ratings that say something other than negligible. */
  | { readonly type: 'safety-report'; readonly ratings: readonly unknown[] }
  | { readonly type: 'prompt-block'; readonly reason: string; readonly message: string | null }
  /** An image inside a text reply; the command saves it and reports `file-save` instead. */
  | {
      readonly type: 'image-data'
      readonly mime_type: string
      readonly base64: string
      readonly partial: boolean
    }

/** What a finished (or failed, or interrupted) text reply amounts to. */
export interface TextResult {
  readonly text: string
  readonly reasoning: string
  readonly refusal: string
  readonly candidates: readonly Candidate[]
  readonly finish_reason: FinishReason
  /** The gateway's own word for the end. */
  readonly raw_finish_reason: string | null
  /** What the gateway says about it, if anything. */
  readonly finish_message: string | null
  readonly tool_calls: readonly ToolCall[]
  readonly citations: readonly Citation[]
  readonly usage: Usage | null
  /** Id of the response, where the reply names one. */
  readonly response_id: string | null
  readonly model: string | null
  /** The gateway's own object: the response object, or the chunks of a stream merged into one. */
  readonly response: unknown
}

/** The document that `--json` prints. */
export interface TextDocument {
  readonly version: number
  readonly command: string
  readonly model: string
  readonly text: string
  readonly finish_reason: FinishReason
  readonly tool_calls: readonly ToolCall[]
  readonly usage: Usage | null
  readonly request_id: string | null
  readonly response: unknown
  readonly reasoning: string
  readonly refusal: string
  readonly candidates: readonly Candidate[]
  readonly citations: readonly Citation[]
  readonly files: readonly SavedFile[]
  readonly warnings: readonly string[]
}
