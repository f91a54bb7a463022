import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { flagsOf } from '../contract/field-flags.ts'
import { imageCreateEndpoint as endpoint } from '../contract/images.ts'
import { addContractFlags } from './shared/request/contract-flags.ts'
import { addExamples, showFirst } from './shared/help/help-layout.ts'
import {
  addImageOptions,
  finishImageRequest,
  sendImages,
  startImageRequest,
  type ImageOptions,
} from './shared/media/image-command.ts'

/** Model and prompt have the common flag -m and the arguments. */
const flags = flagsOf(endpoint.fields).filter(({ name }) => name !== 'model' && name !== 'prompt')

/** `modelgate image create`: images from a prompt (specification, endpoint 4). */
export function registerImageCreate(command: Command, context: Context, send = sendImages): void {
  addExamples(command, [
    ['modelgate image create -m MODEL "A lighthouse at dusk"'],
    ['modelgate image create -m MODEL -n 3 -o "hero-{index}.{ext}" "A paper boat"'],
    ['modelgate image create -m MODEL --size 1536x1024 --quality high -o sea.png "The sea"'],
    ['modelgate image create -m MODEL --background transparent -o logo.png "A red kite"'],
    ['modelgate image create --sandbox --stream --partial-images 2 "A hill"'],
  ])
  command
    .argument('[prompt...]', 'what to draw; "-" or no prompt reads standard input, @file a file')
    .action(async (words: string[], _: unknown, self: Command) => {
      const options = self.optsWithGlobals<ImageOptions>()
      const call = { context, options, own: self.opts(), words }
      const draft = await startImageRequest(call, endpoint, flags)
      const { settings, request } = await finishImageRequest(draft, 'image create')
      await send(context, options, settings, request)
    })
  addContractFlags(command, flags)
  showFirst(
    command,
    'size quality n background output-format stream partial-images skip-existing no-download preview accept-mismatch',
  )
  addImageOptions(command)
}
