import type { Context } from '../context.ts'
import { OutputClosed, type ModelgateError } from '../errors.ts'
import type { OutputDocument, OutputEvent } from '../events/documents.ts'
import type { TextDocument } from '../events/text.ts'
import type { Gate } from './gate.ts'
import type { Notices } from './notices.ts'
import type { Screen } from './screen.ts'

export type OutputMode = 'terminal' | 'plain' | 'json' | 'jsonl' | 'raw'

/** The renderer is chosen when the command starts; no other code checks for JSON or a terminal. */
export interface Output {
  event(event: OutputEvent): void
  /** As received: one document, or one event of a stream. Only `--raw` prints it. */
  raw(text: string): void
  /** Waits for a slow reader. Called once per chunk from the network. */
  flush(): Promise<void>
  end(document: OutputDocument): Promise<void>
  error(error: ModelgateError, partial?: OutputDocument): Promise<void>
}

export interface Result {
  /** Writes what comes before the notice of an event. */
  before?(event: OutputEvent): void
  event?(event: OutputEvent): void
  raw?(text: string): void
  flush?(): Promise<void>
  end?(document: OutputDocument): Promise<void>
  /** Not called when the reader has closed the output. */
  error?(error: ModelgateError, partial?: OutputDocument): Promise<void>
}

export interface RendererParts {
  readonly screen: Screen
  readonly notices: Notices
  readonly gate: Gate
  readonly context: Context
  /** Redacted where it is not the model's own, and sanitised for a terminal. */
  readonly show: (text: string) => string
}

export function createResultOutput(
  { screen, notices }: Pick<RendererParts, 'screen' | 'notices'>,
  result: Result = {},
): Output {
  return {
    event(event) {
      result.before?.(event)
      notices.event(event)
      result.event?.(event)
    },
    raw: (text) => result.raw?.(text),
    async flush() {
      await result.flush?.()
      await screen.settle()
    },
    async end(document) {
      await result.end?.(document)
      notices.end(document)
      await screen.close()
    },
    async error(error, partial) {
      if (!(error instanceof OutputClosed)) await result.error?.(error, partial)
      notices.error(error, partial)
      await screen.closeAfterError()
    },
  }
}

export function isTextDocument(document: OutputDocument): document is TextDocument {
  return 'finish_reason' in document
}

/** Whether a document is of a response that continues at the gateway. */
export function isRunning(document: OutputDocument): document is TextDocument {
  return isTextDocument(document) && (document.state === 'queued' || document.state === 'in_progress')
}
