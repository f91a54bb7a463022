import { familyOf, type FamilyId } from '../../contract/families.ts'
import { type JsonObject, numberOf, textOf } from '../json-value.ts'
import { scenarioHeader, type SandboxRequest } from '../request.ts'
import { scenarioOf, scenarios, type Scenario, countTokens } from '../answer/answer.ts'
import type { Size } from './pixels.ts'
import type { Detail } from './scene/palette.ts'

export type ImageFormat = 'png' | 'jpeg' | 'webp'
type Quality = 'low' | 'medium' | 'high'

/** What a valid request of either image endpoint asks for, with the defaults filled in. */
export interface ImageOrder {
  readonly model: string
  readonly family: FamilyId | undefined
  readonly prompt: string
  readonly scenario: Scenario | undefined
  readonly count: number
  /** Undefined for `auto`. */
  readonly size: Size | undefined
  readonly quality: Quality
  readonly detail: Detail
  readonly format: ImageFormat
  /** 0 to 100, for the formats that lose. */
  readonly encoderQuality: number
  readonly background: 'transparent' | 'opaque' | 'auto'
  readonly isUrl: boolean
  readonly streams: boolean
  readonly partials: number
  readonly isVivid: boolean
}

/** The levels that the reply may name, for the words of the request. */
const qualities: Readonly<Record<string, Quality>> = {
  low: 'low',
  medium: 'medium',
  high: 'high',
  hd: 'high',
  standard: 'medium',
  auto: 'medium',
}
const details = { low: 1, medium: 2, high: 3 } as const
/**
 * What the encoders are told where the request says nothing: `output_compression` is the quality that is left, as
 * the public service has it: 100 keeps the most.
 */
const encoderQualities = { low: 70, medium: 86, high: 94 } as const

/** Reads a body that has been checked. */
export function readOrder({ body, ...request }: SandboxRequest, model: string): ImageOrder {
  const family = familyOf(model)
  const prompt = textOf(body['prompt'])
  const ofModel = scenarios.find((scenario) => model === `sandbox-${scenario}`)
  const quality = qualities[wordOf(body, 'quality', 'auto')] ?? 'medium'
  return {
    model,
    family,
    prompt,
    scenario: scenarioOf(scenarioHeader({ body, ...request }), prompt, ofModel),
    count: numberOf(body['n']) ?? 1,
    size: sizeOf(wordOf(body, 'size', 'auto')),
    quality,
    detail: details[quality],
    format: wordOf(body, 'output_format', 'png') as ImageFormat,
    encoderQuality: numberOf(body['output_compression']) ?? encoderQualities[quality],
    background: wordOf(body, 'background', 'auto') as ImageOrder['background'],
    isUrl: !isModelA(family) && wordOf(body, 'response_format', 'url') === 'url',
    streams: body['stream'] === true && !request.ignoresStream,
    partials: numberOf(body['partial_images']) ?? 0,
    isVivid: wordOf(body, 'style', 'vivid') === 'vivid',
  }
}

/** Model A and its mini variant, which always answer in base64 and alone tell their usage. */
export function isModelA(family: FamilyId | undefined): boolean {
  return family === 'image-model-a' || family === 'image-model-a-mini'
}

function wordOf(body: JsonObject, name: string, otherwise: string): string {
  return textOf(body[name]) || otherwise
}

function sizeOf(word: string): Size | undefined {
  const [, width, height] = /^(\d+)x(\d+)$/.exec(word) ?? []
  return width === undefined ? undefined : { width: Number(width), height: Number(height) }
}

/** Tokens of one image by quality and shape, as the public service counts them (wire notes, section "Images"). */
const imageTokens = {
  low: { square: 272, portrait: 408, landscape: 400 },
  medium: { square: 1056, portrait: 1584, landscape: 1568 },
  high: { square: 4160, portrait: 6240, landscape: 6208 },
} as const
const partialTokens = 100

/** Of a source image: so many, and more for every tile, once its shorter side is scaled to the tile's. */
const sourceTokens = { base: 65, tile: 129, side: 512 } as const
const fidelityTokens = { square: 4160, other: 6240 } as const

/**
 * Usage of a whole request, for model A only. All numbers add up.
 * @param sources dimensions of the source images; they count more with high input fidelity
 */
export function usageOf(
  { prompt, quality, partials, streams }: ImageOrder,
  size: Size,
  images: number,
  { sources = [] as readonly Size[], isFaithful = false } = {},
): object {
  const text = Math.max(1, countTokens(prompt))
  const image = sources.reduce((sum, source) => sum + tokensOfSource(source, isFaithful), 0)
  const output = images * (imageTokens[quality][shapeOf(size)] + (streams ? partials * partialTokens : 0))
  return {
    input_tokens: text + image,
    input_tokens_details: { image_tokens: image, text_tokens: text },
    output_tokens: output,
    output_tokens_details: { image_tokens: output, text_tokens: 0 },
    total_tokens: text + image + output,
  }
}

function shapeOf({ width, height }: Size): 'square' | 'portrait' | 'landscape' {
  if (width === height) return 'square'
  return width < height ? 'portrait' : 'landscape'
}

function tokensOfSource({ width, height }: Size, isFaithful: boolean): number {
  const scale = sourceTokens.side / Math.min(width, height)
  const tiles = [width, height].reduce(
    (product, side) => product * Math.ceil((side * scale) / sourceTokens.side),
    1,
  )
  const extra = isFaithful ? (width === height ? fidelityTokens.square : fidelityTokens.other) : 0
  return sourceTokens.base + sourceTokens.tile * tiles + extra
}
