import type { Context } from '../../context.ts'
import { ModelgateError } from '../../errors.ts'
import { readFlagValue } from './flag-value.ts'

/**
 * The value of a text flag (`--system`, `--instructions`) or a prompt: the text itself, or with a leading `@` the
 * content of that file (`@notes.txt`) or of standard input (`@-`). `\@` starts a text with a real `@`.
 * Nothing is guessed: text that starts with `@` and names no file is an error that tells about the escape.
 * @throws UsageError, FileError as `readFlagValue` does
 */
export async function parseTextFlag(context: Context, flag: string, value: string): Promise<string> {
  if (value.startsWith(String.raw`\@`)) return value.slice(1)
  try {
    const { text } = await readFlagValue(context, flag, value)
    return text
  } catch (error) {
    throw error instanceof ModelgateError && notAFileName.has(error.code) ? withEscape(error, value) : error
  }
}

// What the system says of a text that was never meant to be a path.
const notAFileName = new Set(['not_found', 'name_too_long', 'not_a_folder', 'bad_file_name'])

function withEscape({ exit, code, message, facts }: ModelgateError, value: string): ModelgateError {
  const hint = `Text that starts with "@" names a file. To send the text itself, write it as '\\${value.slice(0, 20)}${value.length > 20 ? '…' : ''}'.`
  return new ModelgateError(exit, code, message, { ...facts, hint })
}
