import type { Command } from 'commander'
import { stateFolder } from '../config/paths.ts'
import type { Context } from '../context.ts'
import type { ImageJobs } from '../files/jobs/job-record.ts'
import { isLeftToFetch, openImages } from '../operations/jobs.ts'
import { videoStates } from '../contract/video-state.ts'
import { addExamples, type Example } from './shared/help/help-layout.ts'
import { registerJobList, type JobListing } from './shared/jobs/job-list.ts'
import { responseListing } from './response-list.ts'
import { videoListing } from './video-list.ts'

const jobsExamples: readonly Example[] = [
  ['modelgate jobs'],
  ['modelgate jobs --refresh --state in_progress'],
  ['modelgate jobs --json | jq -r ".jobs[].id"'],
]

/** `modelgate jobs`: all that this machine has started, and the images that are not fetched. */
export function registerJobs(command: Command, context: Context): void {
  addExamples(command, jobsExamples)
  registerJobList(command, context, {
    command: 'jobs',
    pruned: 'finished jobs: failed, expired, saved or answered',
    listings: [imageListing(context), responseListing(context), videoListing(context)],
  })
}

/** The images at addresses on record. */
function imageListing(context: Context): JobListing<ImageJobs> {
  return {
    states: videoStates,
    open: (redactor) => openImages(context, stateFolder(context), redactor),
    isPrunable: (record, now) => !isLeftToFetch(record, now),
  }
}
