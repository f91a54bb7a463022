import type { Command } from 'commander'
import type { Settings } from '../config/settings.ts'
import type { Context } from '../context.ts'
import { commandInputs } from '../contract/command-inputs.ts'
import { flagsOf } from '../contract/field-flags.ts'
import { videoReferenceTypes, videoOperationEndpoint as endpoint } from '../contract/videos.ts'
import {
  addInstance,
  instancesOf,
  readPicture,
  readVideo,
  storedMedia,
  type InstanceImage,
  type InstanceMedia,
} from '../operations/video-request.ts'
import { mediaTypeOfName } from '../files/media-type.ts'
import { isUrl } from '../operations/image-sources.ts'
import { addContractFlags, inputOption } from './shared/request/contract-flags.ts'
import { fetchSource } from './shared/request/fetch-source.ts'
import { addExamples, showFirst } from './shared/help/help-layout.ts'
import { allInputs } from '../problems.ts'
import { isSet } from './shared/request/request-body.ts'
import { readTextPrompt } from './shared/request/text-prompt.ts'
import { isStandardInputClaimed, readStandardInputBytes } from './shared/input/standard-input.ts'
import {
  addStartOptions,
  finishVideoRequest,
  startJob,
  startVideoRequest,
  type VideoOptions,
} from './shared/media/video-command.ts'

interface GenerateOptions extends VideoOptions {
  image?: string
  lastFrame?: string
  reference?: string[]
  video?: string
}

const flags = flagsOf(endpoint.fields)
const inputs = commandInputs['video generate']

/** `modelgate video generate`: a long-running operation (specification, endpoint 7). */
export function registerVideoGenerate(command: Command, context: Context, start = startJob): void {
  addExamples(command, [
    ['modelgate video generate -m MODEL --wait -o clip.mp4 "A paper boat"'],
    ['modelgate video generate -m MODEL --aspect-ratio 9:16 --duration-seconds 8 "Rain"'],
    ['modelgate video generate -m MODEL --image first.png --last-frame last.png "It opens"'],
    ['modelgate video generate -m MODEL --image https://example.com/first.png'],
    ['modelgate video generate -m MODEL --no-wait --json "A storm" > job.json'],
    ['modelgate video generate --sandbox --wait -o clip.mp4 "A paper boat"'],
  ])
  command
    .argument('[prompt...]', 'what to show; "-" or no prompt reads standard input, @file a file')
    .addOption(inputOption(inputs.image))
    .addOption(inputOption(inputs['last-frame']))
    .addOption(inputOption(inputs.reference))
    .addOption(inputOption(inputs.video))
    .action(async (words: string[], _: unknown, self: Command) => {
      const options = self.optsWithGlobals<GenerateOptions>()
      const own: Readonly<Record<string, unknown>> = self.opts()
      const call = { context, options, own, words }
      const draft = await startVideoRequest(call, { endpoint, flags, modelKind: 'video' })
      const { body, settings, problems } = draft
      const known = problems.any ? undefined : settings
      const media = (await problems.check(() => readMedia(context, options, known))) ?? {}
      const hasContent =
        [...mediaFlags, 'instances'].some((name) => own[name] !== undefined) ||
        instancesOf(body).length > 0 ||
        ['prompt', 'instances'].some((name) => isSet(options, name))
      const prompt = await readTextPrompt(draft, { hasContent, joins: false })
      if (prompt === undefined && settings?.quiet.value !== true) noteUnreadInput(context)
      body['parameters'] ??= {}
      await problems.check(() => addInstance(body, prompt, media))
      const request = await finishVideoRequest(draft, 'operation', prompt)
      await start(context, options, request, undefined, mediaIn(options))
    })
  addContractFlags(command, flags)
  showFirst(
    command,
    'image last-frame reference video aspect-ratio duration-seconds resolution sample-count negative-prompt seed wait no-wait accept-mismatch',
  )
  addStartOptions(command)
}

/** The files and URLs in the order that they have in the body. */
function mediaIn({ image, lastFrame, reference = [], video }: GenerateOptions): string[] {
  const references = reference.map((text) => splitReference(text).name)
  return [image, lastFrame, ...references, video].filter((name) => name !== undefined)
}

const mediaFlags = ['image', 'lastFrame', 'reference', 'video'] as const

/** A request with pictures needs no prompt, so one that was piped in would go unnoticed. */
function noteUnreadInput(context: Context): void {
  const { kind } = context.stdin
  if (kind === 'terminal' || kind === 'empty' || isStandardInputClaimed(context)) return
  context.stderr.write('modelgate: No prompt was given; "-" as the prompt reads standard input.\n')
}

/**
 * @param settings undefined if the call is refused anyway: then no URL is fetched
 * @throws UsageError, FileError with every problem, each naming the flag
 */
async function readMedia(
  context: Context,
  options: GenerateOptions,
  settings: Settings | undefined,
): Promise<InstanceMedia> {
  const { image, lastFrame, reference = [], video } = options
  const read = async (flag: string, name: string): Promise<InstanceImage> => {
    const stored = storedMedia(name)
    if (stored !== undefined) return stored
    if (isUrl(name)) {
      if (settings === undefined) return { gcsUri: name }
      const input = { field: 'image', name: flag } as const
      const source = await fetchSource(context, options, settings, input, name)
      if (source.isAddress) {
        const mimeType = mediaTypeOfName(name) ?? 'application/octet-stream'
        return { bytesBase64Encoded: source.label, mimeType }
      }
      const chunks: Uint8Array[] = []
      for await (const chunk of source.open()) chunks.push(chunk)
      const bytes = Buffer.concat(chunks)
      return readPicture(context, { label: `${flag} ${JSON.stringify(source.label)}`, bytes })
    }
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
  const readSource = async () =>
    video === undefined ? {} : { video: await readVideo(context, { label: '--video', path: video }) }
  const parts = [readFirst(), readLast(), readReferences(), readSource()]
  return Object.assign({}, ...(await allInputs<InstanceMedia>(parts))) as InstanceMedia
}

/** `FILE` or `FILE=style`. A file's name may hold an equals sign itself. */
function splitReference(text: string): { name: string; type: string } {
  const type = videoReferenceTypes.find((word) => text.endsWith(`=${word}`))
  return type === undefined
    ? { name: text, type: videoReferenceTypes[0] }
    : { name: text.slice(0, -type.length - 1), type }
}
