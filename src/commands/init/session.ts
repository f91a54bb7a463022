import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { AlreadyReported, asModelgateError } from '../../errors.ts'
import { reportError } from '../../output/create-output.ts'
import type { Gate } from '../../output/gate.ts'
import type { Screen, Tone } from '../../output/screen.ts'
import type { RunCommand } from '../shared/options/command-tools.ts'
import type { CommonOptions } from '../shared/options/common-options.ts'
import { wrap } from '../../output/line-breaks.ts'

export interface InitOptions extends CommonOptions {
  textModel?: string
  imageModel?: string
  videoModel?: string
  test?: boolean
  completion?: boolean
  check: boolean
  yes?: true
}

/** Writes a line for the user on standard error, broken between words. Resolves when it has been written. */
export type Say = (text: string, tone?: Tone) => Promise<void>

export interface Session {
  readonly context: Context
  readonly options: InitOptions
  /** Whether questions may be asked. */
  readonly asks: boolean
  /** Whether the gateway may be asked. */
  readonly checks: boolean
  /** As they are configured now, without the flags of the answers and without the project file. */
  readonly settings: Settings
  readonly gate: Gate
  readonly say: Say
  readonly waitFor: WaitFor
}

/** Large, because a line may hold a command to paste. */
const maxLength = 4000

export function createSay({ stderr }: Context, screen: Screen): Say {
  return async (text, tone = 'plain') => {
    const indent = /^ */.exec(text)![0]
    // What is to be pasted stays one line.
    const isWrapped = stderr.isTerminal && tone !== 'accent'
    const lines = isWrapped ? wrap(text, stderr.columns - 1, indent).split('\n') : [text]
    for (const line of lines) screen.line(line, tone, maxLength)
    await screen.settle()
  }
}

/** Shows what is waited for until it is there, where questions are asked. */
type WaitFor = <Value>(what: string, work: Promise<Value>) => Promise<Value>

export function createWait(screen: Screen): WaitFor {
  return async (what, work) => {
    screen.wait(what)
    try {
      return await work
    } finally {
      await screen.close()
    }
  }
}

/**
 * Runs another command as if it had been typed, and reports its failure.
 * @returns the failure, which has been reported; undefined when all went well
 */
export async function runCommand(
  run: RunCommand,
  argv: readonly string[],
  context: Context,
): Promise<AlreadyReported | undefined> {
  try {
    await run(argv, context)
    return undefined
  } catch (error) {
    if (error instanceof AlreadyReported) return error
    const failure = asModelgateError(error, false)
    await reportError(context, failure, { quiet: false })
    return new AlreadyReported(failure)
  }
}
