import type { Usage } from '../../contract/text-event.ts'
import { stringOf, type JsonObject } from '../json-access.ts'
import { readFacts } from './skim-text.ts'
import { readContentUsage } from './usage.ts'

/** What comes with every chunk of a reply; the newest counts. */
export interface ReplyFacts {
  take(chunk: JsonObject): void
  /** The facts of a chunk that was skimmed, as text: only the newest are ever read. */
  skim(facts: string): void
  readonly usage: Usage | null
  readonly model: string | null
  readonly responseId: string | null
}

export function createReplyFacts(): ReplyFacts {
  let usage: unknown
  let model: string | null = null
  let responseId: string | null = null
  let skimmed = ''

  const takeFrom = (chunk: JsonObject) => {
    if (chunk['usageMetadata']) usage = chunk['usageMetadata']
    model = stringOf(chunk['modelVersion']) ?? model
    responseId = stringOf(chunk['responseId']) ?? responseId
  }
  const catchUp = () => {
    if (skimmed !== '') takeFrom(readFacts(skimmed))
    skimmed = ''
  }
  return {
    take(chunk) {
      catchUp()
      takeFrom(chunk)
    },
    skim(facts) {
      if (facts !== '') skimmed = facts
    },
    get usage() {
      catchUp()
      return readContentUsage(usage)
    },
    get model() {
      catchUp()
      return model
    },
    get responseId() {
      catchUp()
      return responseId
    },
  }
}
