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

/**
 * Asks for a line of text.
 * @returns the text; empty when there is no answer, because the input has ended (Ctrl-D)
 * @throws Interrupted on Ctrl-C
 */
export async function askText(context: Context, message: string): Promise<string> {
  const { stdin, stderr, signal } = context
  const ended = new AbortController()
  const streams = {
    ...(stdin.stream === undefined ? {} : { input: stdin.stream }),
    ...(stderr.stream === undefined ? {} : { output: stderr.stream }),
    signal: AbortSignal.any([signal, ended.signal]),
  }
  // At the end of input the question would stay open for ever. The line reader then only pauses the stream,
  // as it also does after an answer, when nothing is left to abort.
  const endings = ['pause', 'end', 'close'] as const
  const onEnd = () => ended.abort()
  for (const name of endings) stdin.stream?.once(name, onEnd)
  try {
    // Needed rarely, and large.
    const { input } = await import('@inquirer/prompts')
    return await input({ message, required: true }, streams)
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (error instanceof Error && error.name === 'ExitPromptError') throw new Interrupted('interrupt')
    if (error instanceof Error && error.name === 'AbortPromptError') return ''
    throw error
  } finally {
    for (const name of endings) stdin.stream?.off(name, onEnd)
  }
}
