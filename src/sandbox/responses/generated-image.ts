import { imageCreateEndpoint } from '../../contract/images.ts'
import { modelCalled } from '../../contract/known-models.ts'
import { base64Of, paint } from '../images/image-reply.ts'
import { promptPicture, usualSize } from '../images/image-endpoints.ts'
import { readParameters } from '../images/parameters.ts'
import { type JsonObject, textOf } from '../json-value.ts'
import type { BuiltInCall, CallSetting } from './tool-call.ts'

/** The fields of the tool that the image endpoint has, too. */
const imageFields = [
  'background',
  'moderation',
  'output_compression',
  'output_format',
  'partial_images',
  'quality',
  'size',
] as const

/** The part of a tool that is a request for an image. */
export function imageRequestOf(tool: JsonObject): JsonObject {
  return Object.fromEntries(imageFields.flatMap((name) => (name in tool ? [[name, tool[name]]] : [])))
}

/**
 * The picture of an image generation call, and its previews if the request is streamed; base64.
 */
export async function generateImage({ tool, number, fails }: BuiltInCall, { prompt, exchange }: CallSetting) {
  const body = { ...imageRequestOf(tool), prompt, stream: exchange.body['stream'] }
  const model = modelCalled(textOf(tool['model']) || 'image-model-a')
  const parameters = readParameters({ ...exchange, body }, model, imageCreateEndpoint)
  const size = parameters.size ?? usualSize
  const seed = [...exchange.seed, 'image']
  const task = { parameters, draw: (index: number) => promptPicture(parameters, size, seed, index) }
  const partials: string[] = []
  const count = parameters.streams && !fails ? parameters.partials : 0
  for (let partial = 0; partial < count; partial++) {
    partials.push(base64Of(await paint(task, number, partial)))
  }
  const picture = fails ? undefined : await paint(task, number)
  const { format, quality, background } = parameters
  const properties = {
    background: picture?.background ?? background,
    output_format: format,
    quality,
    size: `${size.width}x${size.height}`,
  }
  return { properties, partials, image: picture && base64Of(picture) }
}
