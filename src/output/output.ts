import type { ModelgateError } from '../errors.ts'
import type { OutputDocument, OutputEvent } from '../events/documents.ts'
import type { TextDocument } from '../events/text.ts'

export type OutputMode = 'terminal' | 'plain' | 'json' | 'jsonl' | 'raw'

/**
 * Renders a command's events. The renderer is chosen when the command starts; no other code checks for JSON or a
 * terminal.
 */
export interface Output {
  event(event: OutputEvent): void
  /** The gateway's own JSON as received: one document, or one event of a stream. Only `--raw` prints it. */
  raw(text: string): void
  /** Waits for a slow reader. Called once per chunk from the network. */
  flush(): Promise<void>
  /** The command succeeded. */
  end(document: OutputDocument): Promise<void>
  /** The command failed; `partial` is what had arrived by then. */
  error(error: ModelgateError, partial?: OutputDocument): Promise<void>
}

/** Whether a document is an answer, or the state of one. */
export function isTextDocument(document: OutputDocument): document is TextDocument {
  return 'finish_reason' in document
}

/** Whether a document is of a response that goes on at the gateway. */
export function isRunning(document: OutputDocument): boolean {
  return isTextDocument(document) && (document.state === 'queued' || document.state === 'in_progress')
}
