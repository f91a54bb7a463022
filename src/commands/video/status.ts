import type { Command } from 'commander'
import type { Context } from '../../context.ts'
import { addExamples, type Example } from '../shared/help-layout.ts'
import { refuseSome } from '../shared/common-options.ts'
import { lookAtJob } from './look-at-job.ts'
import { addStatusOptions, meaninglessToLooks, type VideoOptions } from './video-options.ts'

const videoStatusExamples: readonly Example[] = [
  ['modelgate video status video_123'],
  ['modelgate video status --last --json'],
  ['modelgate video status models/MODEL/operations/123 --wait'],
  ['modelgate video status video_123 --exit-status && echo done'],
]

/** `modelgate video status`: a look at a job (specification, endpoint 5; operations: wire notes, section 7). */
export function registerVideoStatus(command: Command, context: Context): void {
  addExamples(command, context, videoStatusExamples)
  refuseSome(command, meaninglessToLooks)
  command
    .argument('[id]', 'id of a video or name of an operation, or the beginning of it')
    .action((id: string | undefined, _: unknown, self: Command) =>
      lookAtJob(context, self.optsWithGlobals<VideoOptions>(), id, 'video status'),
    )
  addStatusOptions(command)
}
