import type { Context } from '../../../context.ts'
import { defaultSeconds, maxRequestBytes, maxRequestMebibytes } from '../../../limits.ts'
import { FileError, ModelgateError, UsageError } from '../../../errors.ts'
import { counted } from '../../../quantities.ts'
import { consumeInput, type SilenceStep, decodeText } from '../../../files/input-file.ts'

export interface PromptSource {
  /** `-` alone means standard input. */
  readonly argument: string | undefined
  /** By `--no-stdin`, or by a setting, which `-` overrides. */
  readonly noStdin: 'flag' | 'setting' | false
  readonly joins: boolean
  /** In seconds; 0 waits for ever. */
  readonly stdinTimeout?: number | undefined
  notice(line: string): void
}

const noticeAfterMs = 1000

/**
 * From both, piped text comes first. Undefined if there is neither; empty if standard input was read and empty.
 * Call it after the flags have been read, one of which may have claimed standard input (`@-`). Beside a prompt, a file that
 * another process is reading, such as the list of a `while read` loop, is not touched.
 * @throws UsageError `input_silent`, `wrong_type`, `usage`, `file_too_large`
 */
export async function readPrompt(context: Context, source: PromptSource): Promise<string | undefined> {
  const { argument, noStdin, joins, notice } = source
  if (argument === '-') {
    if (noStdin === 'flag')
      throw new UsageError('The prompt "-" reads standard input, which --no-stdin forbids.')
    return await readStandardInputText(context, 'the prompt -')
  }
  if (noStdin || isStandardInputClaimed(context)) return argument
  const { kind, consumed } = context.stdin
  if (kind === 'terminal' || kind === 'empty') return argument
  if (argument === undefined) {
    const act = () => notice('Waiting for the prompt on standard input, an open pipe.')
    const steps = kind === 'pipe' ? [{ afterMs: noticeAfterMs, act }] : []
    return await readStandardInputText(context, 'the piped prompt', steps)
  }
  if (!joins) return argument
  if (consumed !== 'none') {
    if (consumed === 'some') notice(leftAlone)
    return argument
  }
  const steps = kind === 'pipe' ? silenceSteps(source) : []
  const piped = await readStandardInputText(context, 'the piped prompt', steps)
  if (!/\S/.test(piped)) return argument
  const place = kind === 'file' ? 'the file on standard input' : 'standard input'
  notice(`Joined ${counted(Buffer.byteLength(piped), 'byte')} of ${place} (in a loop: --no-stdin).`)
  const gap = piped.endsWith('\n\n') ? '' : piped.endsWith('\n') ? '\n' : '\n\n'
  return `${piped}${gap}${argument}`
}

const leftAlone =
  'Standard input was left unread: it is a file that has been read in part, for example by a `while read` loop. ' +
  '"-" as the prompt reads the rest; --no-stdin silences this note.'

/** @param reader as the user wrote it, for the message if it is read twice: `--tools @-` */
export async function readStandardInputBytes(
  context: Context,
  reader: string,
  steps: readonly SilenceStep[] = [],
): Promise<Buffer> {
  claimStandardInput(context, reader)
  if (context.stdin.kind === 'empty') return Buffer.alloc(0)
  try {
    return await consumeInput(context, context.stdin, { maxBytes: maxRequestBytes, tooLarge, steps })
  } catch (error) {
    context.signal.throwIfAborted()
    if (error instanceof ModelgateError) throw error
    const { code, message } = error as NodeJS.ErrnoException
    throw new FileError('read_failed', `Standard input cannot be read: ${code ?? message}.`, {
      phase: 'input',
      cause: error,
    })
  }
}

/** UTF-8, or UTF-16 with a byte order mark. */
export async function readStandardInputText(
  context: Context,
  reader: string,
  steps: readonly SilenceStep[] = [],
): Promise<string> {
  const { text, problem } = decodeText(await readStandardInputBytes(context, reader, steps))
  if (text !== undefined) return text
  throw new UsageError(`Standard input ${problem}.`, {
    code: 'wrong_type',
    hint: 'Pass data that is not text with a flag: -a - attaches it to a question, --image - edits it.',
  })
}

function tooLarge(): UsageError {
  const message = `Standard input is larger than ${maxRequestMebibytes} MiB, the most that can be sent.`
  return new UsageError(message, { code: 'file_too_large', hint: 'Send less, in several calls.' })
}

function silenceSteps({ stdinTimeout = defaultSeconds.standardInput, notice }: PromptSource): SilenceStep[] {
  const timeoutMs = stdinTimeout * 1000
  const waiting: SilenceStep = {
    afterMs: noticeAfterMs,
    act: () => notice(`Waiting for text on standard input, an open pipe. ${alternatives}`),
  }
  const timeout: SilenceStep = {
    afterMs: timeoutMs,
    act() {
      const message = `There is a prompt, but standard input is a pipe that stayed open without sending anything for ${stdinTimeout} s.`
      throw new UsageError(message, { code: 'input_silent', hint: alternatives })
    },
  }
  if (timeoutMs === 0) return [waiting]
  return timeoutMs > noticeAfterMs ? [waiting, timeout] : [timeout]
}

const alternatives =
  'To send the prompt alone, add --no-stdin (or set MODELGATE_NO_STDIN=1) or </dev/null; ' +
  'to read the pipe alone, give "-" as the prompt; ' +
  'to wait longer, set --stdin-timeout SECONDS.'

/** Standard input can be read only once. @param reader as the user wrote it: `-`, `--tools @-`, `-a -` */
export function claimStandardInput({ stdin }: Context, reader: string): void {
  const earlier = stdin.reader
  if (earlier !== undefined) {
    throw new UsageError(`Standard input can be read only once, but ${both(earlier, reader)}.`, {
      hint: 'Put one of them in a file: @FILE.',
    })
  }
  stdin.reader = reader
}

export function isStandardInputClaimed({ stdin }: Context): boolean {
  return stdin.reader !== undefined
}

function both(earlier: string, reader: string): string {
  return earlier === reader ? `${reader} is given twice` : `both ${earlier} and ${reader} want it`
}
