import type { Context } from '../../context.ts'
import { Interrupted } from '../../errors.ts'

/**
 * Whether a missing value may be asked for: somebody sits at a terminal and reads standard error,
 * neither `--no-input` nor a CI says otherwise. Of the environment only `CI` itself counts, not every `CI_…`.
 */
export function canAsk(context: Context, noInput: boolean): boolean {
  const { CI = '' } = context.env
  const isCi = !['', '0', 'false'].includes(CI.toLowerCase())
  return !noInput && !isCi && context.stdin.kind === 'terminal' && context.stderr.isTerminal
}

/** Asks for a line of text that is not empty. @throws Interrupted on Ctrl-C */
export async function askText(context: Context, message: string): Promise<string> {
  const { stdin, stderr, signal } = context
  const streams = {
    ...(stdin.stream === undefined ? {} : { input: stdin.stream }),
    ...(stderr.stream === undefined ? {} : { output: stderr.stream }),
    signal,
  }
  try {
    // Needed rarely, and large.
    const { input } = await import('@inquirer/prompts')
    return await input({ message, required: true }, streams)
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (error instanceof Error && error.name === 'ExitPromptError') throw new Interrupted('interrupt')
    throw error
  }
}
