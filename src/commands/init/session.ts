import type { Context } from '../../context.ts'
import type { Settings } from '../../config/settings.ts'
import type { Gate } from '../../output/gate.ts'
import { wrap } from '../../output/line-breaks.ts'
import { createScreen, type Tone } from '../../output/screen.ts'
import { canAsk } from '../shared/input/questions.ts'
import type { CommonOptions } from '../shared/options/common-options.ts'

export interface InitOptions extends CommonOptions {
  textModel?: string
  imageModel?: string
  videoModel?: string
  test?: boolean
  check: boolean
  yes?: true
}

export type Session = ReturnType<typeof openSession>

/** Large, because a line may hold a command to paste. */
const maxLength = 4000

/** @param settings as they are configured now, without the flags of the answers and without the project file */
export function openSession(context: Context, options: InitOptions, settings: Settings, gate: Gate) {
  const { stderr } = context
  const asks = !options.yes && context.env['TERM'] !== 'dumb' && canAsk(context, options.noInput)
  const screen = createScreen(context, gate, !asks)
  return {
    context,
    options,
    settings,
    gate,
    /** Whether questions may be asked. */
    asks,
    /** Whether the gateway may be asked. */
    checks: options.check && options.dryRun !== true,
    /** Writes a line for the user on standard error, broken between words. Resolves when it has been written. */
    async say(text: string, tone: Tone = 'plain'): Promise<void> {
      if (!asks && settings.quiet.value) return
      const indent = /^ */.exec(text)![0]
      // What is to be pasted stays one line.
      const isWrapped = stderr.isTerminal && tone !== 'accent'
      const lines = isWrapped ? wrap(text, stderr.columns - 1, indent).split('\n') : [text]
      for (const line of lines) screen.line(line, tone, maxLength)
      await screen.settle()
    },
    /** Shows what is waited for until it is there, where questions are asked. */
    async waitFor<Value>(what: string, work: Promise<Value>): Promise<Value> {
      screen.wait(what)
      try {
        return await work
      } finally {
        await screen.close()
      }
    },
  }
}
