import type { Command } from 'commander'
import { stateFolder } from '../config/paths.ts'
import type { Context } from '../context.ts'
import { isFinal } from '../contract/video-state.ts'
import { responseStates } from '../contract/response-object.ts'
import { lookUpResponse } from '../gateway/responses/background.ts'
import { changeOf } from '../operations/background-response.ts'
import { openResponses, unknownJobDays } from '../operations/jobs.ts'
import { addExamples, type Example } from './shared/help/help-layout.ts'
import type { ResponseJobs } from '../files/jobs/job-record.ts'
import { registerJobList, type JobListing } from './shared/jobs/job-list.ts'

const responseListExamples: readonly Example[] = [
  ['modelgate response list'],
  ['modelgate response list --refresh --state completed'],
  ['modelgate response list --json | jq -r ".jobs[].id"'],
  ['modelgate response list --prune', 'forget finished jobs'],
]

/** `modelgate response list`: the background responses recorded on this machine. */
export function registerResponseList(command: Command, context: Context): void {
  addExamples(command, responseListExamples)
  registerJobList(command, context, {
    command: 'response list',
    pruned: `responses that have ended, or have not been seen for ${unknownJobDays} days`,
    listings: [responseListing(context)],
  })
}

/** The background responses on record, for lists. */
export function responseListing(context: Context): JobListing<ResponseJobs> {
  return {
    states: responseStates,
    open: (redactor) => openResponses(context, stateFolder(context), redactor),
    isPrunable: ({ state, checked_at, created_at }, now) =>
      isFinal(state) || now - (checked_at ?? created_at) > unknownJobDays * 86_400,
    lookUp: async (gateway, { record }) => changeOf(await lookUpResponse(gateway, record.id!)),
  }
}
