import type * as Library from '@inquirer/prompts'
import type { Context } from '../../../context.ts'
import { Interrupted } from '../../../errors.ts'

/** Only the variable `CI` itself counts, not every `CI_…`. */
export function canAsk(context: Context, noInput = false): boolean {
  return !noInput && !isCiSet(context.env) && context.stdin.kind === 'terminal' && context.stderr.isTerminal
}

export function isCiSet({ CI = '' }: Context['env']): boolean {
  return !['', '0', 'false'].includes(CI.toLowerCase())
}

/** Undefined, or what is wrong with the answer. @param signal aborted when the question is over, however it ended */
type CheckAnswer = (value: string, signal: AbortSignal) => Promise<string | undefined>

/** @returns empty if the input has ended (Ctrl-D) @throws Interrupted on Ctrl-C; the signal's reason */
export const askText = (context: Context, message: string) =>
  ask(context, ({ input }, streams) => input({ message, required: true }, streams), '')

/**
 * For a question that has an answer already or can be left open.
 * @throws Interrupted on Ctrl-C and at the end of the input; the signal's reason
 */
export const askLine = (context: Context, message: string, present: string, check: CheckAnswer) =>
  ask(context, ({ input }, streams, signal) =>
    input({ message, default: present, validate: validation(check, signal) }, streams),
  )

/** Not even the length is shown. */
export const askSecret = (context: Context, message: string, check: CheckAnswer) =>
  ask(context, ({ password }, streams, signal) =>
    password({ message, toggleMask: false, validate: validation(check, signal) }, streams),
  )

export const askYesNo = (context: Context, message: string) =>
  ask(context, ({ confirm }, streams) => confirm({ message, default: false }, streams))

export interface Choice<Value> {
  readonly value: Value
  readonly name: string
  readonly description?: string
}

export const askChoice = <Value>(context: Context, message: string, choices: readonly Choice<Value>[]) =>
  ask(context, ({ select }, streams) => select({ message, choices, loop: false }, streams))

export async function askSearch(
  context: Context,
  message: string,
  find: (typed: string) => readonly Choice<string>[],
  present?: string,
): Promise<string> {
  let found: readonly Choice<string>[] = []
  const source = (typed: string | undefined) => [...(found = find(typed ?? ''))]
  const marked = present === undefined ? {} : { default: present }
  const answer = await ask(context, ({ search }, streams) => search({ message, source, ...marked }, streams))
  // Keys that come all at once, as from a paste, may choose what was marked before they were typed.
  return found.some(({ value }) => value === answer) ? answer : (found[0]?.value ?? answer)
}

/** A validation must not throw, and after the end of the question it must not end either. */
function validation(check: CheckAnswer, signal: AbortSignal) {
  return async (value: string): Promise<true | string> => {
    const problem = await check(value, signal).catch((error: unknown) =>
      error instanceof Error ? error.message : String(error),
    )
    if (signal.aborted) return new Promise(() => {})
    return problem ?? true
  }
}

type Questions = Pick<typeof Library, 'input' | 'password' | 'confirm' | 'select' | 'search'>

type Streams = NonNullable<Parameters<Questions['input']>[1]>

/** @param atEnd the answer if the input has ended; left out where nobody is there any more then */
async function ask<Value>(
  { stdin, stderr, signal }: Context,
  question: (library: Questions, streams: Streams, over: AbortSignal) => Promise<Value>,
  atEnd?: Value,
): Promise<Value> {
  const [ended, over] = [new AbortController(), new AbortController()]
  const abort = AbortSignal.any([signal, ended.signal])
  const streams: Streams = {
    ...(stdin.stream === undefined ? {} : { input: stdin.stream }),
    ...(stderr.stream === undefined ? {} : { output: stderr.stream }),
    signal: abort,
  }
  // At the end of input the question would never be answered. The line reader then only pauses the stream, as it also
  // does after an answer, when there is nothing left to abort.
  const endings = ['pause', 'end', 'close'] as const
  const onEnd = () => ended.abort()
  for (const name of endings) stdin.stream?.once(name, onEnd)
  try {
    // Large and rarely needed. The kinds of question that have no name here stay out of the bundle.
    const { input, password, confirm, select, search } = await import('@inquirer/prompts')
    const library = { input, password, confirm, select, search }
    return await question(library, streams, AbortSignal.any([over.signal, abort]))
  } catch (error) {
    if (signal.aborted) throw signal.reason
    const { name } = error instanceof Error ? error : {}
    if (name === 'AbortPromptError' && atEnd !== undefined) return atEnd
    if (name === 'AbortPromptError' || name === 'ExitPromptError') throw new Interrupted('interrupt')
    throw error
  } finally {
    over.abort()
    for (const name of endings) stdin.stream?.off(name, onEnd)
  }
}
