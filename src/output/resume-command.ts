import type { Context } from '../context.ts'
import { shellWord } from '../files/shell-word.ts'

/**
 * The command that continues to wait for a job, ready to paste into a shell.
 * @param flags what it needs besides the id, to find the job: `--sandbox`, `--profile work`
 */
export function resumeCommand(
  { program }: Pick<Context, 'program'>,
  id: string,
  flags: readonly string[] = [],
): string {
  const operands = id.startsWith('-') ? ['--', id] : [id]
  return [program, ...['video', 'wait', ...flags, ...operands].map(shellWord)].join(' ')
}
