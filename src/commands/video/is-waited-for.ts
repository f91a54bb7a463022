import type { Context } from '../../context.ts'
import { canAsk } from '../shared/ask.ts'
import type { VideoOptions } from './video-options.ts'

/** Whether a command that starts a job waits for it: as `--wait` says, else only for a person at a terminal. */
export function isWaitedFor(context: Context, { wait }: VideoOptions): boolean {
  return wait ?? (canAsk(context, false) && context.stdout.isTerminal)
}
