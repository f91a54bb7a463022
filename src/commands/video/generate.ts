import type { Command } from 'commander'
import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { videoOperationEndpoint as endpoint } from '../../contract/videos.ts'
import { collect } from '../shared/common-options.ts'
import { addContractFlags, flagsOf } from '../shared/contract-flags.ts'
import { addExamples, type Example } from '../shared/help-layout.ts'
import type { Body } from '../../operations/operation.ts'
import { instancesOf, videosOf, buildVideoRequest } from './video-request.ts'
import { readImagery, type Imagery, type ImageryOptions } from './imagery.ts'
import { startJob } from './start-job.ts'
import { addStartOptions, type VideoOptions } from './video-options.ts'

type GenerateOptions = VideoOptions & ImageryOptions

const flags = flagsOf(endpoint.fields)

const videoGenerateExamples: readonly Example[] = [
  ['modelgate video generate -m MODEL --wait -o clip.mp4 "A paper boat"'],
  ['modelgate video generate -m MODEL --aspect-ratio 9:16 --duration-seconds 8 "Rain"'],
  ['modelgate video generate -m MODEL --image first.png --last-frame last.png "It opens"'],
  ['modelgate video generate -m MODEL --no-wait --json "A storm" > job.json'],
  ['modelgate video generate --sandbox --wait -o clip.mp4 "A paper boat"'],
]

/** `modelgate video generate`: a long-running operation (specification, endpoint 7). */
export function registerVideoGenerate(command: Command, context: Context, start = startJob): void {
  addExamples(command, context, videoGenerateExamples)
  command
    .argument('[prompt...]', 'what to show; "-" or no prompt reads standard input, @file a file')
    .option('--image <file>', 'picture of the first frame, or - for standard input')
    .option('--last-frame <file>', 'picture of the last frame')
    .option('--reference <file>', 'reference picture, or FILE=style for its style (repeatable)', collect)
    .action(async (words: string[], _: unknown, self: Command) => {
      const options = self.optsWithGlobals<GenerateOptions>()
      let imagery: Imagery = {}
      const { settings, request } = await buildVideoRequest(context, options, self.opts(), words, {
        command: 'video generate',
        kind: 'operation',
        endpoint,
        flags,
        modelInBody: false,
        hasPrompt: (body) => instancesOf(body).length > 0 && instancesOf(body).every(hasPrompt),
        async readInputs({ step }) {
          imagery = (await step(() => readImagery(context, options))) ?? {}
        },
        async complete(body, prompt, { step }) {
          body['parameters'] ??= {}
          await step(() => addOrder(body, prompt, imagery))
        },
        countOf: videosOf,
      })
      await start(context, options, settings, request)
    })
  addContractFlags(command, flags)
  addStartOptions(command)
}

const hasPrompt = ({ prompt }: Body) => prompt !== undefined

/**
 * Prompt and pictures of the command line: an order of their own, or what the instances of the body lack.
 * @throws UsageError where they belong to none of several instances
 */
function addOrder(body: Body, prompt: string | undefined, imagery: Imagery): void {
  const given = body['instances']
  const pictures = Object.keys(imagery).length > 0
  if (given === undefined) {
    body['instances'] = [{ ...(prompt === undefined ? {} : { prompt }), ...imagery }]
    return
  }
  const instances = instancesOf(body)
  const lacking = instances.filter((instance) => !hasPrompt(instance))
  if (prompt !== undefined && lacking.length === 0) {
    throw new UsageError('Every one of the --instances has its own prompt: leave out the one beside them.')
  }
  if (pictures && instances.length !== 1) {
    throw new UsageError(
      '--image, --last-frame and --reference go with one order: put them into the --instances.',
    )
  }
  for (const instance of lacking) if (prompt !== undefined) instance['prompt'] = prompt
  for (const instance of instances) Object.assign(instance, imagery)
}
