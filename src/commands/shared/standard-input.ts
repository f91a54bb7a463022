import type { Context } from '../../context.ts'
import { defaultSeconds } from '../../contract/limits.ts'
import { UsageError } from '../../errors.ts'
import { decodeText, invalidTextClause } from '../../files/decode-text.ts'
import { claimStandardInput, isStandardInputClaimed } from './claim-input.ts'
import { consumeInput } from './consume-input.ts'
import type { SilenceStep } from './consume-input.ts'

export interface PromptSource {
  /** The words of the command line, joined; `-` alone means standard input. */
  readonly argument: string | undefined
  /** `--no-stdin` */
  readonly noStdin: boolean
  /** `--stdin-timeout`, in seconds: how long a pipe beside a prompt may stay silent. 0 waits for ever. */
  readonly stdinTimeout?: number
  /** Takes a line for standard error. */
  notice(line: string): void
}

const noticeAfterMs = 1000

/**
 * The prompt from the command line, from standard input, or from both: piped text first, a blank line, then the prompt.
 * Undefined when there is neither; an empty text when standard input was read and held none.
 * Call it after the flags have been read: when one of them has claimed standard input (`@-`), only the argument counts.
 * The rules are those of product.md, "Streams".
 * @throws UsageError `stdin_silent`, `stdin_not_text`, `stdin_claimed`, `input_too_large`
 */
export async function readPrompt(context: Context, source: PromptSource): Promise<string | undefined> {
  const { argument, noStdin } = source
  if (argument === '-') {
    if (noStdin) throw new UsageError('The prompt "-" reads standard input, which --no-stdin forbids.')
    return await readStandardInputText(context, 'the prompt -')
  }
  if (noStdin || isStandardInputClaimed(context)) return argument
  const { kind } = context.stdin
  if (kind === 'terminal' || kind === 'empty') return argument
  const steps = argument !== undefined && kind === 'pipe' ? silenceSteps(source) : []
  const piped = await readStandardInputText(context, 'the piped prompt', steps)
  return argument === undefined ? piped : joined(piped, argument)
}

/**
 * Reads standard input to its end, however long that takes.
 * @param reader as the user wrote it, for the message when two want it: `--tools @-`
 */
export async function readStandardInputBytes(context: Context, reader: string): Promise<Buffer> {
  claimStandardInput(context, reader)
  return context.stdin.kind === 'empty' ? Buffer.alloc(0) : await consumeInput(context)
}

/** As `readStandardInputBytes`, decoded (UTF-8, or UTF-16 with a byte order mark). */
export async function readStandardInputText(
  context: Context,
  reader: string,
  steps: readonly SilenceStep[] = [],
): Promise<string> {
  claimStandardInput(context, reader)
  if (context.stdin.kind === 'empty') return ''
  const { text, invalid } = decodeText(await consumeInput(context, steps))
  if (text !== undefined) return text
  throw new UsageError(`Standard input ${invalidTextClause(invalid)}.`, {
    code: 'stdin_not_text',
    hint: 'What is not text is given to a flag: -a - attaches it to a question, --image - edits it.',
  })
}

function silenceSteps({ stdinTimeout = defaultSeconds.standardInput, notice }: PromptSource): SilenceStep[] {
  const timeoutMs = stdinTimeout * 1000
  const waiting: SilenceStep = {
    afterMs: noticeAfterMs,
    act: () => notice(`Waiting for text on standard input, an open pipe. ${waysOut}`),
  }
  const givingUp: SilenceStep = {
    afterMs: timeoutMs,
    act() {
      const message = `There is a prompt, but standard input is a pipe that stayed open and silent for ${stdinTimeout} s.`
      throw new UsageError(message, { code: 'stdin_silent', hint: waysOut })
    },
  }
  if (timeoutMs === 0) return [waiting]
  return timeoutMs > noticeAfterMs ? [waiting, givingUp] : [givingUp]
}

const waysOut =
  'To send the prompt alone, add --no-stdin or </dev/null; to read the pipe alone, give "-" as the prompt; ' +
  'to wait longer, set --stdin-timeout SECONDS.'

function joined(piped: string, argument: string): string {
  if (!/\S/.test(piped)) return argument
  const gap = piped.endsWith('\n\n') ? '' : piped.endsWith('\n') ? '\n' : '\n\n'
  return `${piped}${gap}${argument}`
}
