import { firstCharacters, withoutScenarios } from '../answer/answer.ts'
import type { JsonObject } from '../json-value.ts'
import type { Exchange } from '../sandbox.ts'
import type { Finding, OutputItem } from './output-item.ts'

/** A call of a built-in tool that the answer makes. */
export interface BuiltInCall {
  /** The tool as the request offers it. */
  readonly tool: JsonObject
  /** Which call of this kind it is in the response, from 0. */
  readonly number: number
  readonly fails: boolean
}

export interface CallSetting {
  readonly exchange: Exchange
  readonly prompt: string
  /** An id of that prefix, unique in the response. */
  newId(prefix: string): string
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
