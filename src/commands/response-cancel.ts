import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { addShared } from './shared/options/common-options.ts'
import { addExamples, type Example } from './shared/help/help-layout.ts'
import { addJobOptions, lastOption } from './shared/jobs/named-job.ts'
import { followUp, optionsOfResponses, type ResponseOptions } from './shared/text/response-command.ts'

const responseCancelExamples: readonly Example[] = [
  ['modelgate response cancel resp_123'],
  ['modelgate response cancel --last --json | jq -r .state'],
]

/** `modelgate response cancel`: stops a background response. */
export function registerResponseCancel(command: Command, context: Context): void {
  addExamples(command, responseCancelExamples)
  addShared(command, optionsOfResponses)
  command
    .argument('[id]', 'response id, or the beginning of one')
    .action((id: string | undefined, _: unknown, self: Command) =>
      followUp(context, self.optsWithGlobals<ResponseOptions>(), id, 'response cancel'),
    )
  addJobOptions(command, [lastOption('response')])
}
