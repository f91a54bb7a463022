import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { explainCommon, refuseOptions, strictMeanings } from './shared/common-options.ts'
import { addExamples, type Example } from './shared/help-layout.ts'
import { addJobOptions, lastOption } from './shared/named-job.ts'
import { waitOptions, type VideoOptions } from './shared/video-command.ts'
import { lookUpJob, refusedByLookUps } from './shared/video-look-up.ts'

const videoWaitExamples: readonly Example[] = [
  ['modelgate video wait video_123'],
  ['modelgate video wait --last -o clip.mp4'],
  ['modelgate video wait models/MODEL/operations/123 --timeout 600'],
]

/** `modelgate video wait`: an alias for `video status --wait`. */
export function registerVideoWait(command: Command, context: Context): void {
  addExamples(command, context, videoWaitExamples)
  refuseOptions(command, refusedByLookUps)
  explainCommon(command, strictMeanings.videos)
  command
    .argument('[id]', 'id of a video or name of an operation, or the beginning of it')
    .action((id: string | undefined, _: unknown, self: Command) =>
      lookUpJob(context, self.optsWithGlobals<VideoOptions>(), id, 'video wait'),
    )
  addJobOptions(command, [lastOption(), ...waitOptions()])
}
