import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { videoReferenceTypes, videoOperationEndpoint as endpoint } from '../contract/videos.ts'
import {
  addInstance,
  hasPrompt,
  instancesOf,
  readPicture,
  type InlineImage,
  type InstancePictures,
} from '../operations/video-request.ts'
import { collect } from './shared/common-options.ts'
import { addContractFlags, flagsOf } from './shared/contract-flags.ts'
import { addExamples, type Example } from './shared/help-layout.ts'
import { allInputs } from '../problems.ts'
import { isSet } from './shared/request-body.ts'
import { readStandardInputBytes } from './shared/standard-input.ts'
import { addStartOptions, buildVideoRequest, startJob, type VideoOptions } from './shared/video-command.ts'

interface GenerateOptions extends VideoOptions {
  image?: string
  lastFrame?: string
  reference?: string[]
}

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
      let pictures: InstancePictures = {}
      const request = await buildVideoRequest({ context, options, own: self.opts(), words }, 'operation', {
        endpoint,
        flags,
        model: { kind: 'video', location: 'path' },
        joinsInput: false,
        async readInputs({ problems: { check } }) {
          pictures = (await check(() => readPictures(context, options))) ?? {}
        },
        hasContent({ body, problems: { any } }) {
          if (any && self.opts()['instances'] !== undefined) return true
          const instances = instancesOf(body)
          const isComplete = instances.length > 0 && instances.every(hasPrompt)
          return isComplete || ['prompt', 'instances'].some((name) => isSet(options, name))
        },
        addPrompt({ body }, prompt) {
          body['parameters'] ??= {}
          addInstance(body, prompt, pictures)
        },
      })
      await start(context, options, request)
    })
  addContractFlags(command, flags)
  addStartOptions(command)
}

/** @throws UsageError, FileError with every problem, each naming the flag */
async function readPictures(
  context: Context,
  { image, lastFrame, reference = [] }: GenerateOptions,
): Promise<InstancePictures> {
  const read = async (flag: string, name: string): Promise<InlineImage> => {
    if (name !== '-') return readPicture(context, { label: flag, path: name })
    const bytes = await readStandardInputBytes(context, `${flag} -`)
    return readPicture(context, { label: `${flag} "-"`, bytes })
  }
  const readReference = async (text: string) => {
    const { name, type } = splitReference(text)
    return { image: await read('--reference', name), referenceType: type }
  }
  const readFirst = async () => (image === undefined ? {} : { image: await read('--image', image) })
  const readLast = async () =>
    lastFrame === undefined ? {} : { lastFrame: await read('--last-frame', lastFrame) }
  const readReferences = async () =>
    reference.length === 0 ? {} : { referenceImages: await allInputs(reference.map(readReference)) }
  const pictures = await allInputs<InstancePictures>([readFirst(), readLast(), readReferences()])
  return Object.assign({}, ...pictures) as InstancePictures
}

/** `FILE` or `FILE=style`. A file's name may hold an equals sign itself. */
function splitReference(text: string): { name: string; type: string } {
  const type = videoReferenceTypes.find((word) => text.endsWith(`=${word}`))
  return type === undefined
    ? { name: text, type: videoReferenceTypes[0] }
    : { name: text.slice(0, -type.length - 1), type }
}
