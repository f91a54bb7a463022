import type { Context } from '../../../context.ts'
import { maxRequestBytes, maxRequestMebibytes } from '../../../limits.ts'
import { FileError, ModelgateError, UsageError } from '../../../errors.ts'
import { consumeInput, type SilenceStep, decodeText } from '../../../files/input-file.ts'

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

/** Standard input can be read only once. @param reader as the user wrote it: `-`, `--tools @-`, `-a -` */
export function claimStandardInput({ stdin }: Context, reader: string): void {
  const earlier = stdin.reader
  if (earlier !== undefined) {
    const both = earlier === reader ? `${reader} is given twice` : `both ${earlier} and ${reader} want it`
    const hint = 'Put one of them in a file: @FILE.'
    throw new UsageError(`Standard input can be read only once, but ${both}.`, { hint })
  }
  stdin.reader = reader
}

export function isStandardInputClaimed({ stdin }: Context): boolean {
  return stdin.reader !== undefined
}
