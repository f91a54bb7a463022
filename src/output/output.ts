import type { ModelgateError } from '../errors.ts'
import type { OutputDocument, OutputEvent } from '../events/documents.ts'

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
