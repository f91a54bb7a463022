import type { Context } from '../../context.ts'
import { shellWord } from '../../files/file-error.ts'
import type { CommonOptions } from './common-options.ts'

/**
 * The command that resumes waiting for a job, ready to paste, with the flags that it needs to find the same gateway.
 * @param group the commands for such jobs
 */
export function resumeCommand(
  { program }: Pick<Context, 'program'>,
  { sandbox, profile, baseUrl }: CommonOptions,
  group: 'video' | 'response' = 'video',
) {
  const flags = [
    ...(sandbox ? ['--sandbox'] : []),
    ...(profile === undefined ? [] : ['--profile', profile]),
    ...(baseUrl === undefined || sandbox ? [] : ['--base-url', baseUrl]),
  ]
  /** @param after the number of the event behind which the stream of a response goes on */
  return (id: string, after?: number): string => {
    const place = after === undefined ? [] : ['--stream', '--starting-after', String(after)]
    const operands = id.startsWith('-') ? ['--', id] : [id]
    return [program, ...[group, 'wait', ...place, ...flags, ...operands].map(shellWord)].join(' ')
  }
}

/**
 * The command that goes on with a response. What has been printed is not printed again, unless the answer is only
 * useful whole: in a file, or as one document.
 */
export function resumeResponse(context: Pick<Context, 'program'>, options: CommonOptions) {
  const command = resumeCommand(context, options, 'response')
  const isWhole = options.json === true || (options.output !== undefined && options.output !== '-')
  return (id: string, after?: number): string => command(id, isWhole ? undefined : after)
}
