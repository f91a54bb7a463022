import { familyCalled } from '../../contract/families.ts'
import type { Endpoint, Family, SourceLimits } from '../../contract/field.ts'
import { maskLimits } from '../../contract/images.ts'
import type { Model } from '../../contract/known-models.ts'
import { decodeImage, type Pixels } from '../../files/codecs.ts'
import { readImageInfo, type ImageInfo } from '../../files/image-info.ts'
import { mediaScenario, countTokens, imageScenarios } from '../answer/answer.ts'
import { RequestProblem, invalidField, missingField, unknownField } from '../http/request-problem.ts'
import { numberOf, textOf } from '../json-value.ts'
import type { Exchange, ImageFormat, UploadedFile } from '../sandbox.ts'
import type { Size } from './pixels.ts'

export const usualSize: Size = { width: 1024, height: 1024 }

/** A valid request to either image endpoint, with the defaults filled in. */
export interface ImageRequest extends ReturnType<typeof readImageRequest> {
  /** What is edited, and where it is open; both of the size of the result. */
  readonly masked?: { readonly source: Pixels; readonly mask: Pixels }
}

/** The encoder quality of requests without `output_compression`, which as in the public service is what is left of it. */
const encoderQualities = { low: 70, medium: 86, high: 94 }

function qualityOf(word: string): keyof typeof encoderQualities {
  if (/^(high|xhigh|max|hd)$/.test(word)) return 'high'
  return word === 'low' ? 'low' : 'medium'
}

/** @param usual the size for `auto`, and where no size is given */
export function readImageRequest(
  exchange: Exchange,
  { id: model, family }: Model,
  { fields }: Endpoint,
  usual = usualSize,
) {
  const { body, files } = exchange
  const textField = (name: string) => textOf(body[name]) || String(fields[name]?.default)
  const prompt = textOf(body['prompt'])
  const quality = qualityOf(textField('quality'))
  const background = textField('background')
  return {
    family,
    prompt,
    scenario: mediaScenario(imageScenarios, 'image_generation_user_error', exchange.scenario, prompt, model),
    count: numberOf(body['n']) ?? 1,
    size: drawableSize(textOf(body['size'])) ?? usual,
    quality,
    format: formatOf(textField('output_format')),
    encoderQuality: numberOf(body['output_compression']) ?? encoderQualities[quality],
    background: background === 'transparent' || background === 'opaque' ? background : 'auto',
    isUrl: !isLikeModelA(family) && textField('response_format') === 'url',
    streams: body['stream'] === true && !exchange.ignoresStream,
    partials: numberOf(body['partial_images']) ?? 0,
    isVivid: fields['style'] === undefined || textField('style') === 'vivid',
    /** How many images are edited; 0 for a creation. */
    sources: files.filter(({ field }) => field !== 'mask').length,
    sourceTokens: body['input_fidelity'] === 'high' ? 4354 : 194,
    seed: [
      ...exchange.seed,
      ...(files.length > 0 ? ['edit', ...files.map(({ digest }) => digest)] : ['image']),
    ],
  }
}

/** Model A and its successors always answer in base64, and they alone report their usage. */
function isLikeModelA(family: Family | undefined): boolean {
  return family !== undefined && !takes(family, 'response_format')
}

export function takes({ endpoints }: Family, field: string): boolean {
  return (endpoints['image create'] ?? endpoints['image edit'])?.[field] !== false
}

function formatOf(word: string): ImageFormat {
  if (word === 'png' || word === 'jpeg' || word === 'webp') return word
  throw invalidField('output_format', 'must be one of png, jpeg, webp in the sandbox')
}

/** The pixels of the largest picture that any family takes. */
const maxDrawnPixels = 8_294_400

function drawableSize(word: string): Size | undefined {
  if (word === '' || word === 'auto') return undefined
  const size = sizeOf(word)
  const pixels = size === undefined ? 0 : size.width * size.height
  if (size !== undefined && pixels > 0 && pixels <= maxDrawnPixels) return size
  const problem = `must be auto or WIDTHxHEIGHT of at most ${maxDrawnPixels} pixels in the sandbox`
  throw invalidField('size', problem)
}

/** Parses a size such as `1024x1024`; undefined for `auto`. */
export function sizeOf(word: string): Size | undefined {
  const [, width, height] = /^(\d+)x(\d+)$/.exec(word) ?? []
  return width === undefined ? undefined : { width: Number(width), height: Number(height) }
}

/** Width by height of a ratio such as `16:9`; undefined for anything else. */
export function shapeOf(ratio: unknown): number | undefined {
  const [, across, down] = /^([1-9]\d{0,3}):([1-9]\d{0,3})$/.exec(textOf(ratio).trim()) ?? []
  return across === undefined ? undefined : Number(across) / Number(down)
}

/** Tokens of one image by quality and shape, as the public service counts them (wire notes, section "Images"). */
const imageTokens = {
  low: { square: 272, portrait: 408, landscape: 400 },
  medium: { square: 1056, portrait: 1584, landscape: 1568 },
  high: { square: 4160, portrait: 6240, landscape: 6208 },
} as const
const partialTokens = 100

/** Usage once this many images have been generated; undefined for models other than A. All numbers add up. */
export function usageOf(
  { family, prompt, quality, partials, streams, size, sources, sourceTokens }: ImageRequest,
  images: number,
): object | undefined {
  if (!isLikeModelA(family)) return undefined
  const text = Math.max(1, countTokens(prompt))
  const image = sources * sourceTokens
  const { width, height } = size
  const shape = width === height ? 'square' : width < height ? 'portrait' : 'landscape'
  const output = images * (imageTokens[quality][shape] + (streams ? partials * partialTokens : 0))
  return {
    input_tokens: text + image,
    input_tokens_details: { image_tokens: image, text_tokens: text },
    output_tokens: output,
    output_tokens_details: { image_tokens: output, text_tokens: 0 },
    total_tokens: text + image + output,
  }
}

type Source = ImageInfo & { readonly file: UploadedFile }

/** Checks files against the limits of the model's family, or what the sandbox can read. */
export function checkSources(files: readonly UploadedFile[], family: Family | undefined) {
  const foreign = files.find(({ field }) => !/^(image(\[\])?|mask)$/.test(field))
  if (foreign !== undefined) throw unknownField(foreign.field)
  const limits = family?.sources ?? readable
  const uploads = files.filter(({ field }) => field !== 'mask')
  const masks = files.filter(({ field }) => field === 'mask')
  if (uploads.length === 0) throw missingField('image')
  if (uploads.length > limits.max_count) {
    const most = limits.max_count === 1 ? '1 file' : `${limits.max_count} files`
    throw invalidFile('image', `must be at most ${most}, not ${uploads.length}`)
  }
  if (masks.length > 1) throw invalidFile('mask', 'must be one file')
  const images = uploads.map((file, index) =>
    checkFile(file, uploads.length === 1 ? 'image' : `image[${index}]`, limits),
  )
  const image = images[0]!
  const mask = masks[0] && checkFile(masks[0], 'mask', { ...maskLimits, square: false })
  if (mask === undefined) return { image, mask }
  // Specification, Limits: the dimensions of the first image; endpoint 6: transparent areas are the edit region.
  if (!mask.hasAlpha) throw invalidFile('mask', 'must have an alpha channel')
  const [size, own] = [image, mask].map(({ width, height }) => `${width}x${height}`)
  if (size !== own) throw invalidFile('mask', `must be ${size} as the first image, not ${own}`)
  return { image, mask }
}

/** The formats and sizes that the sandbox decodes, whatever the model. */
const readable: SourceLimits = { ...familyCalled('image-model-a').sources!, max_count: Infinity }

function checkFile(file: UploadedFile, name: string, limits: Omit<SourceLimits, 'max_count'>): Source {
  const types = limits.media_types.join(', ')
  // Public practice: a part without an image type is rejected, whatever its bytes.
  if (!limits.media_types.includes(file.declaredType.replace('image/jpg', 'image/jpeg'))) {
    throw invalidFile(name, `must be sent as ${types}, not as ${file.declaredType}`)
  }
  if (file.size >= limits.below_bytes) {
    throw invalidFile(name, `must be smaller than ${limits.below_bytes} bytes, not ${file.size}`)
  }
  const info = readImageInfo(file.head)
  if (info === undefined || !limits.media_types.includes(info.mediaType)) {
    throw invalidFile(name, `must be an image of type ${types} by its bytes`)
  }
  const { width, height } = info
  if (limits.square && width !== height) throw invalidFile(name, `must be square, not ${width}x${height}`)
  return { ...info, file }
}

/** A problem with a file, in the words of the public service. */
export function invalidFile(name: string, problem: string): RequestProblem {
  return new RequestProblem(400, `Invalid '${name}': ${problem}.`, {
    param: name,
    type: 'image_generation_user_error',
    code: 'invalid_image_file',
  })
}

/** Larger images would need too much memory. The specification sets no limit. */
const maxPixels = 40_000_000

export async function decodeSource({ file, mediaType, width, height }: Source, name: string) {
  if (width * height > maxPixels) {
    throw invalidFile(name, `must have at most ${maxPixels} pixels in the sandbox, not ${width}x${height}`)
  }
  return decodeImage(file.head, mediaType).catch(() => {
    throw invalidFile(name, `is a damaged ${mediaType}`)
  })
}
