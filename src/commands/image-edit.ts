import type { Command } from 'commander'
import type { Settings } from '../config/settings.ts'
import type { Context } from '../context.ts'
import { commandInputs } from '../contract/command-inputs.ts'
import { flagName } from '../contract/field.ts'
import { flagsOf } from '../contract/field-flags.ts'
import { defaultEditModel, imageEditEndpoint as endpoint } from '../contract/images.ts'
import { UsageError } from '../errors.ts'
import {
  imageFromBytes,
  isUrl,
  readImageFile,
  type ImageSource,
  type SourceInput,
} from '../operations/image-sources.ts'
import type { Body } from '../operations/operation.ts'
import { addContractFlags, inputOption } from './shared/request/contract-flags.ts'
import { fetchSource } from './shared/request/fetch-source.ts'
import { addExamples, showFirst } from './shared/help/help-layout.ts'
import {
  addImageOptions,
  finishImageRequest,
  sendImages,
  startImageRequest,
  type ImageOptions,
} from './shared/media/image-command.ts'
import { allInputs } from '../problems.ts'
import { readStandardInputBytes } from './shared/input/standard-input.ts'

interface EditOptions extends ImageOptions {
  image?: string[]
  mask?: string
}

/** Model and prompt have the common flag -m and the arguments. */
const flags = flagsOf(endpoint.fields).filter(({ name }) => name !== 'model' && name !== 'prompt')

/** `modelgate image edit`: new images from pictures and a prompt (specification, endpoint 6). */
export function registerImageEdit(command: Command, context: Context, send = sendImages): void {
  addExamples(command, [
    ['modelgate image edit -m MODEL --image room.png "Add a window"'],
    ['modelgate image edit -m MODEL --image room.png --mask wall.png "Paint it blue"'],
    ['modelgate image edit -m MODEL --image a.png --image b.jpg -o both.png "Put both in one"'],
  ])
  command
    .argument('[prompt...]', 'what to change; "-" or no prompt reads standard input, @file a file')
    .addOption(inputOption(commandInputs['image edit'].image))
    .addOption(inputOption(commandInputs['image edit'].mask))
    .action(async (words: string[], _: unknown, self: Command) => {
      const options = self.optsWithGlobals<EditOptions>()
      const call = { context, options, own: self.opts(), words }
      const draft = await startImageRequest(call, endpoint, flags)
      const sources = await draft.problems.check(() => readSources(context, options, draft.settings))
      const { settings, request } = await finishImageRequest(draft, 'image edit', sources, whenLeftOut)
      await send(context, options, settings, request)
    })
  addContractFlags(command, flags)
  showFirst(
    command,
    'image mask size quality n background output-format input-fidelity skip-existing no-download preview accept-mismatch',
  )
  addImageOptions(command)
}

/** Names the model that the specification has for an edit without one (endpoint 6, `model`). */
function whenLeftOut(body: Body): readonly string[] {
  const { model, because } = defaultEditModel(body)
  const reason = because === undefined ? 'the default of an edit' : `because of --${flagName(because)}`
  return [`No model was given: the gateway is expected to take ${model}, ${reason}. Give one with -m.`]
}

/** @param settings undefined when they could not be read */
async function readSources(context: Context, options: EditOptions, settings: Settings | undefined) {
  const { image: locations = [], mask: maskLocation, curl } = options
  if (locations.length === 0) throw new UsageError('--image is missing: an edit starts from an image.')
  // A pasted command can read only files and standard input.
  if (curl && [...locations, ...(maskLocation === undefined ? [] : [maskLocation])].some(isUrl)) {
    throw new UsageError('--curl cannot show a request with images from URLs.', {
      hint: 'Download them first, and pass the files.',
    })
  }
  const read = async (field: SourceInput['field'], location: string): Promise<ImageSource> => {
    const input = { field, name: `--${field}` }
    if (isUrl(location)) return fetchSource(context, options, settings, input, location)
    if (location !== '-') return readImageFile(context, input, location)
    const content = await readStandardInputBytes(context, `${input.name} -`)
    return imageFromBytes(input, location, 'stdin', content)
  }
  const [images, mask] = await Promise.all([
    allInputs(locations.map((location) => read('image', location))),
    maskLocation === undefined ? undefined : read('mask', maskLocation),
  ])
  return { images, mask }
}
