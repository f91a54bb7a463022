import { videoStates } from '../contract/video-state.ts'
import type { Command } from 'commander'
import { stateFolder } from '../config/paths.ts'
import type { Context } from '../context.ts'

import { lookUpJob } from '../gateway/videos/look-up-job.ts'
import { isPrunable, openJobs, unknownJobDays } from '../operations/jobs.ts'
import { changeOf } from '../operations/video-run.ts'
import { addExamples, type Example } from './shared/help/help-layout.ts'
import type { VideoJobs } from '../files/jobs/job-record.ts'
import { registerJobList, type JobListing } from './shared/jobs/job-list.ts'

const videoListExamples: readonly Example[] = [
  ['modelgate video list'],
  ['modelgate video list --refresh --state in_progress'],
  ['modelgate video list --json | jq -r ".jobs[].id"'],
  ['modelgate video list --prune', 'forget finished jobs'],
]

/** `modelgate video list`: the jobs recorded on this machine. */
export function registerVideoList(command: Command, context: Context): void {
  addExamples(command, videoListExamples)
  registerJobList(command, context, {
    command: 'video list',
    pruned: `jobs that failed, expired or are saved, or have not been seen for ${unknownJobDays} days`,
    listings: [videoListing(context)],
  })
}

/** The video jobs on record, for lists. */
export function videoListing(context: Context): JobListing<VideoJobs> {
  return {
    states: videoStates,
    open: (redactor) => openJobs(context, stateFolder(context), redactor),
    isPrunable,
    lookUp: async (gateway, { record: { id, kind } }) =>
      changeOf(await lookUpJob(gateway, { id: id!, kind })),
  }
}
