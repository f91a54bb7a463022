import { Option, type Command } from 'commander'
import type { Context } from '../context.ts'
import { commandInputs } from '../contract/command-inputs.ts'
import { flagsOf } from '../contract/field-flags.ts'
import { videoRemixEndpoint as endpoint } from '../contract/videos.ts'
import { UsageError } from '../errors.ts'
import { readPromptField } from './shared/request/text-prompt.ts'
import { addExamples } from './shared/help/help-layout.ts'
import { addJobOptions, lastOption } from './shared/jobs/named-job.ts'
import {
  addStartOptions,
  finishVideoRequest,
  remixOptions,
  startJob,
  startVideoRequest,
  type VideoOptions,
} from './shared/media/video-command.ts'

/** Model and prompt have the common flag -m and the arguments. */
const flags = flagsOf(endpoint.fields).filter(({ name }) => name !== 'model' && name !== 'prompt')

const { source } = commandInputs['video remix']

/** `modelgate video remix`: a video from a completed one (specification, endpoint 3). */
export function registerVideoRemix(command: Command, context: Context, start = startJob): void {
  addExamples(command, [
    ['modelgate video remix -m MODEL video_123 "Make it night"'],
    ['modelgate video remix -m MODEL --last "Add falling snow"'],
    ['modelgate video remix -m MODEL --no-check video_123 "In the style of a woodcut"'],
    ['modelgate video remix --sandbox --wait video_sandbox_source "Turn it upside down"'],
  ])
  command
    .argument('[id]', `${source.about}${source.forms}`)
    .argument('[prompt...]', 'what to change; "-" or no prompt reads standard input, @file a file')
    .action(async (id: string | undefined, rest: string[], _: unknown, self: Command) => {
      const given = self.optsWithGlobals<VideoOptions>()
      const [video, words] = splitArguments(id, rest, given)
      const options = await remixOptions(context, given, video)
      const call = { context, options, own: self.opts(), words }
      const draft = await startVideoRequest(call, { endpoint, flags, modelKind: 'remix' })
      const prompt = await readPromptField(draft)
      const request = await finishVideoRequest(draft, 'video', prompt)
      await start(context, options, request, video)
    })
  addJobOptions(command, [
    lastOption(),
    new Option('--no-check', 'send it without checking that the source is finished'),
  ])
  addStartOptions(command)
}

/** With `--last` all words are the prompt. */
function splitArguments(
  id: string | undefined,
  rest: readonly string[],
  { last }: VideoOptions,
): [source: string | undefined, words: readonly string[]] {
  if (last) return [undefined, id === undefined ? rest : [id, ...rest]]
  if (id !== undefined && id !== '') return [id, rest]
  throw new UsageError('No video was given.', {
    hint: 'Give the id of a finished video before the prompt, or --last for the one started last.',
  })
}
