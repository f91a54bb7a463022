import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { addExamples } from './shared/help/help-layout.ts'
import { followUp, optionsOfResponses, type ResponseOptions } from './shared/jobs/follow-up.ts'
import { addJobOptions, findNamedJob, lastOption } from './shared/jobs/named-job.ts'
import { addShared } from './shared/options/common-options.ts'

/** `modelgate cancel`: stops a background response; the specification has no request that stops another job. */
export function registerCancel(command: Command, context: Context): void {
  addExamples(command, [['modelgate cancel resp_123'], ['modelgate cancel --last --json | jq -r .state']])
  addShared(command, optionsOfResponses)
  command
    .argument('[id]', 'response id, or the beginning of one')
    .action(async (id: string | undefined, options: ResponseOptions) => {
      await followUp(context, await findNamedJob(context, options, id, ['response']), 'cancel')
    })
  addJobOptions(command, [lastOption()])
}
