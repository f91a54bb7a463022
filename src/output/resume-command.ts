import type { Context } from '../context.ts'
import { shellWord } from '../files/shell-word.ts'

/**
 * The command that goes on waiting for a job, to be pasted into a shell.
 * @param flags what the command needs besides, to look in the right place: `--sandbox`, `--profile work`
 */
export function resumeCommand(
  { program }: Pick<Context, 'program'>,
  id: string,
  flags: readonly string[] = [],
): string {
  const operands = id.startsWith('-') ? ['--', id] : [id]
  return [program, ...['video', 'wait', ...flags, ...operands].map(shellWord)].join(' ')
}
