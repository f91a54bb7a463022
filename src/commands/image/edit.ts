import type { Command } from 'commander'
import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { defaultEditModel, imageEditEndpoint as endpoint } from '../../contract/images.ts'
import { flagName } from '../../contract/field.ts'
import { configuredModel, modelOfBody } from '../shared/choose-model.ts'
import { collect } from '../shared/common-options.ts'
import { addContractFlags, flagsOf } from '../shared/contract-flags.ts'
import { addExamples, type Example } from '../shared/help-layout.ts'
import type { Body } from '../../operations/operation.ts'
import { allInputs } from '../../problems.ts'
import { fetchSource, isUrl, readImageSource } from './sources.ts'
import { addImageOptions, type ImageOptions } from './image-options.ts'
import { buildImageRequest, type ChosenModel } from './image-request.ts'
import { sendImages } from './send-images.ts'

interface EditOptions extends ImageOptions {
  image?: string[]
  mask?: string
}

const flags = flagsOf(endpoint.fields).filter(({ name }) => name !== 'model' && name !== 'prompt')

const imageEditExamples: readonly Example[] = [
  ['modelgate image edit -m MODEL --image room.png "Add a window"'],
  ['modelgate image edit -m MODEL --image room.png --mask wall.png "Paint it blue"'],
  ['modelgate image edit -m MODEL --image a.png --image b.jpg -o both.png "Put both in one"'],
]

/** `modelgate image edit`: new images from pictures and a prompt (specification, endpoint 6). */
export function registerImageEdit(command: Command, context: Context, send = sendImages): void {
  addExamples(command, context, imageEditExamples)
  command
    .argument('[prompt...]', 'what to change; "-" or no prompt reads standard input, @file a file')
    .option('--image <file|url>', 'a picture to start from, or - for standard input (repeatable)', collect)
    .option('--mask <file|url>', 'PNG whose transparent parts may be changed')
    .action(async (words: string[], _: unknown, self: Command) => {
      const options = self.optsWithGlobals<EditOptions>()
      const { settings, request } = await buildImageRequest(context, options, self.opts(), words, {
        command: 'image edit',
        endpoint,
        flags,
        chooseModel: async (body, found) =>
          editModel(body, configuredModel('image', options, found), options),
        async readSources(found) {
          const labels = options.image ?? []
          if (labels.length === 0) throw new UsageError('--image is missing: an edit starts from a picture.')
          refuseUrls(options)
          const fetchUrl = (url: string) => fetchSource(context, options, found, url)
          const [images, mask] = await Promise.all([
            allInputs(labels.map((label) => readImageSource(context, '--image', label, fetchUrl))),
            options.mask === undefined
              ? undefined
              : readImageSource(context, '--mask', options.mask, fetchUrl),
          ])
          return { images, mask }
        },
      })
      await send(context, options, settings, request)
    })
  addContractFlags(command, flags)
  addImageOptions(command)
}

/** A pasted command has only what is on the disk, or comes through the pipe. */
function refuseUrls({ curl, image = [], mask }: EditOptions): void {
  const urls = [...image, ...(mask === undefined ? [] : [mask])].filter(isUrl)
  if (!curl || urls.length === 0) return
  throw new UsageError('--curl cannot show a request with pictures from URLs.', {
    hint: 'Download them first, and give the files.',
  })
}

/** The model that was named, else the one that the specification says an edit has then, said aloud. */
function editModel(body: Body, configured: string | undefined, options: EditOptions): ChosenModel {
  const given = modelOfBody(body, options)
  if (given !== undefined) return { model: given, send: true }
  if (configured !== undefined) return { model: configured, send: true }
  const { model, because } = defaultEditModel(body)
  const reason = because === undefined ? 'the default of an edit' : `because of --${flagName(because)}`
  return {
    model,
    send: false,
    warning: `No model was given: the gateway takes ${model}, ${reason}. Give one with -m.`,
  }
}
