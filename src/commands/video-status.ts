import { Option, type Command } from 'commander'
import type { Context } from '../context.ts'
import { videoKinds } from '../files/calls/job-record.ts'
import { addShared, strictMeanings } from './shared/options/common-options.ts'
import { addExamples } from './shared/help/help-layout.ts'
import { addJobOptions, findNamedJob, lastOption } from './shared/jobs/named-job.ts'
import { waitOptions, type VideoOptions } from './shared/media/video-command.ts'
import { lookUpJob, optionsOfLookUps } from './shared/media/video-look-up.ts'

/** `modelgate video status`: looks up a job (specification, endpoint 5; operations: wire notes, section 7). */
export function registerVideoStatus(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate video status video_123'],
    ['modelgate video status --last --json'],
    ['modelgate video status models/MODEL/operations/123 --wait'],
    ['modelgate video status video_123 --exit-status && echo done'],
  ])
  addShared(command, optionsOfLookUps, strictMeanings.videosIfWaiting)
  command
    .argument('[id]', 'video id or operation name, or the beginning of one')
    .action(async (id: string | undefined, _: unknown, self: Command) =>
      lookUpJob(
        context,
        await findNamedJob(context, self.optsWithGlobals<VideoOptions>(), id, videoKinds),
        'video status',
      ),
    )
  addJobOptions(command, [
    lastOption(),
    new Option('--wait', 'wait for the video and save it'),
    new Option('--exit-status', 'exit code by state: completed 0, failed 9, still running 11'),
    ...waitOptions(),
  ])
}
