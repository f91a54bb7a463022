import { firstCharacters, withoutScenarios } from '../answer/answer.ts'
import type { JsonObject } from '../json-value.ts'
import type { SandboxRequest } from '../request.ts'
import type { OutputItem } from './output-item.ts'

/** A call of a built-in tool that the answer makes. */
export interface BuiltInCall {
  /** The tool as the request offers it. */
  readonly tool: JsonObject
  /** Which call of this kind it is in the response, from 0. */
  readonly number: number
  readonly fails: boolean
}

export interface CallSetting {
  readonly request: SandboxRequest
  readonly prompt: string
  /** An id of that prefix, unique in the response. */
  newId(prefix: string): string
}

/** What the text says of a call: a sentence, and the source that a part of it cites. */
export interface Finding {
  readonly sentence: string
  readonly cited?: string
  /** The annotation without its place in the text. */
  readonly source?: JsonObject
}

/** The items of a call. */
export interface MadeCall {
  readonly outputs: readonly OutputItem[]
  readonly finding?: Finding
  /** The caller has to act before the answer goes on. */
  readonly waits?: true
}

/** What is searched for: the beginning of the prompt. */
export function queryOf({ prompt }: CallSetting): string {
  return firstCharacters(withoutScenarios(prompt), 60).replace(/\s+/g, ' ').trim() || 'sandbox'
}
