import { Option, type Command } from 'commander'
import type { Context } from '../context.ts'
import { addShared } from './shared/options/common-options.ts'
import { addExamples, type Example } from './shared/help/help-layout.ts'
import { addJobOptions, lastOption, pollOption } from './shared/jobs/named-job.ts'
import { followUp, optionsOfResponses, type ResponseOptions } from './shared/text/response-command.ts'

const responseStatusExamples: readonly Example[] = [
  ['modelgate response status resp_123'],
  ['modelgate response status --last --json | jq -r .state'],
  ['modelgate response status resp_123 --exit-status && echo done'],
]

/** `modelgate response status`: looks up a background response, once. */
export function registerResponseStatus(command: Command, context: Context): void {
  addExamples(command, responseStatusExamples)
  addShared(command, `${optionsOfResponses} output force usage strict`, {
    strict: 'with --exit-status or --wait, treat an answer truncated by the token limit as a failure',
    output: 'with --wait, write the answer to a file',
    force: 'with --wait, overwrite an existing file',
    usage: 'with --wait, print the token counts on standard error',
  })
  command
    .argument('[id]', 'response id, or the beginning of one')
    .action((id: string | undefined, _: unknown, self: Command) =>
      followUp(context, self.optsWithGlobals<ResponseOptions>(), id, 'response status'),
    )
  addJobOptions(command, [
    lastOption('response'),
    new Option('--wait', 'wait for the answer, as "response wait" does'),
    new Option('--exit-status', 'exit code by state: completed 0, failed or cancelled 9, still running 11'),
    pollOption(),
  ])
}
