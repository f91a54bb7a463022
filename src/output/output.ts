import type { ModelgateError } from '../errors.ts'
import type { OutputDocument, OutputEvent } from '../events/output.ts'

export type OutputMode = 'terminal' | 'plain' | 'json' | 'jsonl' | 'raw'

/**
 * Where a command's events go. One renderer is chosen when the command starts,
 * and nothing else in the program asks whether it is JSON or a terminal.
 */
export interface Output {
  event(event: OutputEvent): void
  /** The gateway's own JSON, as it came: one document, or one event of a stream. Only `--raw` prints it. */
  raw(text: string): void
  /** Waits for a slow reader. Called once per chunk from the network. */
  flush(): Promise<void>
  /** The command is done. */
  end(document: OutputDocument): Promise<void>
  /** The command failed; `partial` is what had arrived before. */
  error(error: ModelgateError, partial?: OutputDocument): Promise<void>
}
