import type { Sink } from '../context.ts'
import { OutputClosed } from '../errors.ts'
import type { OutputDocument } from '../contract/output-event.ts'
import { checkDocumentDepth, withoutDeepParts } from './depth.ts'
import { errorDocument } from './error-document.ts'
import { documentText } from './json-text.ts'
import type { Gate } from './gate.ts'
import type { Notices } from './notices.ts'
import type { Output } from './output.ts'
import type { Screen } from './screen.ts'
import { usageOf } from './usage.ts'

export interface JsonOutputParts {
  readonly screen: Screen
  readonly notices: Notices
  readonly stdout: Sink
  readonly stderr: Sink
  readonly gate: Gate
}

/** `--json`: one document when the command ends; a failure is one document on standard error, with what had arrived. */
export function createJsonOutput({ screen, notices, stdout, stderr, gate }: JsonOutputParts): Output {
  return {
    event: (event) => notices.event(event),
    raw() {},
    async flush() {},
    async end(document) {
      checkDocumentDepth(document)
      screen.text(`${gate.document(documentText(document, stdout))}\n`)
      notices.end(usageOf(document))
      await screen.close()
    },
    async error(error, partial) {
      if (!(error instanceof OutputClosed)) {
        const rest =
          partial !== undefined && hasContent(partial) ? { partial: withoutDeepParts(partial) } : {}
        screen.json(documentText({ ...errorDocument(error), ...rest }, stderr))
      }
      await screen.closeAfterError()
    },
  }
}

/** Whether anything had arrived that a reader may want to keep. */
function hasContent(document: OutputDocument): boolean {
  if ('jobs' in document) return document.jobs.length > 0
  // The id of a job is worth keeping, however little is known of the job.
  if ('video' in document) return true
  if (!('text' in document)) return document.files.length + document.links.length > 0
  const texts = [document.text, document.reasoning, document.refusal]
  return [...texts, document.candidates, document.tool_calls, document.files].some((part) => part.length > 0)
}
