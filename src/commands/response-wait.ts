import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { addShared, strictMeanings } from './shared/options/common-options.ts'
import { addExamples, type Example } from './shared/help/help-layout.ts'
import { addJobOptions, lastOption, pollOption } from './shared/jobs/named-job.ts'
import { addTextOutputOptions, takeLanguage } from './shared/text/text-command.ts'
import {
  addAnswerOptions,
  followUp,
  optionsOfResponses,
  type ResponseOptions,
} from './shared/text/response-command.ts'

const responseWaitExamples: readonly Example[] = [
  ['modelgate response wait --last'],
  ['modelgate response wait resp_123 -o answer.txt --timeout 600'],
  ['modelgate response wait resp_123 --stream', 'words as they arrive'],
  ['modelgate response wait resp_123 --starting-after 42', 'what follows that event'],
]

/** `modelgate response wait`: waits for a background response, and prints its answer. */
export function registerResponseWait(command: Command, context: Context): void {
  addExamples(command, responseWaitExamples)
  addShared(command, `${optionsOfResponses} output force usage strict`, strictMeanings.text)
  command
    .argument('[id]', 'response id, or the beginning of one')
    .action(async (given: string | undefined, _: unknown, self: Command) => {
      const ids = given === undefined ? [] : [given]
      const { options, words } = await takeLanguage(
        self.optsWithGlobals<ResponseOptions>(),
        ids,
        'response wait',
      )
      await followUp(context, options, words[0], 'response wait')
    })
  addTextOutputOptions(command)
  addJobOptions(command, [lastOption('response'), pollOption()])
  addAnswerOptions(command)
}
