import type * as Prompts from '@inquirer/prompts'
import type { Context } from '../../context.ts'
import { Interrupted } from '../../errors.ts'

export interface Choice<Value> {
  readonly name: string
  readonly value: Value
}

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
  return await asking(context, ({ input }, streams) => input({ message, required: true }, streams))
}

/** Asks for one of several. @throws Interrupted on Ctrl-C */
export async function askChoice<Value>(
  context: Context,
  message: string,
  choices: readonly Choice<Value>[],
): Promise<Value> {
  return await asking(context, ({ select }, streams) => select({ message, choices }, streams))
}

/** Asks for a text that is not shown. @throws Interrupted on Ctrl-C */
export async function askSecret(context: Context, message: string): Promise<string> {
  return await asking(context, ({ password }, streams) => password({ message, mask: true }, streams))
}

interface Streams {
  readonly input?: NodeJS.ReadStream
  readonly output?: NodeJS.WriteStream
  readonly signal: AbortSignal
}

/** Loads the prompts, which are needed rarely and are large, and gives them this context's streams. */
async function asking<Value>(
  context: Context,
  ask: (prompts: typeof Prompts, streams: Streams) => Promise<Value>,
): Promise<Value> {
  const { stdin, stderr, signal } = context
  const streams: Streams = {
    ...(stdin.stream === undefined ? {} : { input: stdin.stream }),
    ...(stderr.stream === undefined ? {} : { output: stderr.stream }),
    signal,
  }
  try {
    return await ask(await import('@inquirer/prompts'), streams)
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (error instanceof Error && error.name === 'ExitPromptError') throw new Interrupted('interrupt')
    throw error
  }
}
