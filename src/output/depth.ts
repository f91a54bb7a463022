import { ContractError } from '../errors.ts'
import type { OutputDocument, OutputEvent } from '../events/output.ts'

/** How deep a value from the gateway may be nested; `JSON.stringify` itself fails at some thousands. */
const maxDepth = 512

/** Whether arrays and objects are nested deeper than `limit` levels. Uses no recursion, so that nothing can be too deep. */
export function exceedsDepth(value: unknown, limit = maxDepth): boolean {
  let level: unknown[] = [value]
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > limit) return true
    const next: unknown[] = []
    for (const container of level) {
      if (typeof container !== 'object' || container === null) continue
      for (const inner of Object.values(container)) {
        if (typeof inner === 'object' && inner !== null) next.push(inner)
      }
    }
    level = next
  }
  return false
}

/** @throws ContractError when the gateway's part of a document is nested too deeply to be printed */
export function checkDocumentDepth(document: OutputDocument): void {
  if (openParts(document).some((part) => exceedsDepth(part))) throw tooDeep()
}

/** @throws ContractError, see `checkDocumentDepth` */
export function checkEventDepth(event: OutputEvent): void {
  if (exceedsDepth(openPart(event))) throw tooDeep()
}

/** What had arrived, without the parts that cannot be printed: an error's report must not fail itself. */
export function withoutDeepParts(document: OutputDocument): OutputDocument {
  switch (document.command) {
    case 'video list':
      return document
    case 'generate':
    case 'respond': {
      const calls = document.tool_calls.filter((call) => !exceedsDepth(call.arguments))
      return { ...document, response: unlessDeep(document.response), tool_calls: calls }
    }
    case 'image create':
    case 'image edit':
      return { ...document, response: unlessDeep(document.response) }
    default:
      return { ...document, video: unlessDeep(document.video), operation: unlessDeep(document.operation) }
  }
}

function unlessDeep(part: unknown): unknown {
  return exceedsDepth(part) ? null : part
}

/** The parts of a document whose shape the gateway decides. */
function openParts(document: OutputDocument): unknown[] {
  switch (document.command) {
    case 'video list':
      return []
    case 'generate':
    case 'respond':
      return [document.response, ...document.tool_calls.map((call) => call.arguments)]
    case 'image create':
    case 'image edit':
      return [document.response]
    default:
      return [document.video, document.operation]
  }
}

/** The part of an event whose shape the gateway decides. */
function openPart(event: OutputEvent): unknown {
  switch (event.type) {
    case 'tool-call':
      return event.call.arguments
    case 'item-add':
      return event.item
    case 'safety-report':
      return event.ratings
    default:
      return undefined
  }
}

function tooDeep(): ContractError {
  return new ContractError('reply_too_deep', `The reply is nested more than ${maxDepth} levels deep.`, {
    hint: 'Use --raw to see the reply as it came.',
  })
}
