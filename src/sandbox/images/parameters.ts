import { familyOf, type FamilyId } from '../../contract/families.ts'
import { type JsonObject, numberOf, textOf } from '../json-value.ts'
import { scenarioHeader, type SandboxRequest } from '../request.ts'
import { askedFor, scenarios, type Scenario, countTokens } from '../answer/answer.ts'
import { moderationBlocked } from '../http/request-problem.ts'
import type { Size } from './pixels.ts'
import type { Detail } from './scene/draw-scene.ts'

export type ImageFormat = 'png' | 'jpeg' | 'webp'
type Quality = 'low' | 'medium' | 'high'

/** What a valid request of either image endpoint asks for, with the defaults filled in. */
export interface ImageParameters {
  readonly family: FamilyId | undefined
  readonly prompt: string
  readonly scenario: Scenario | undefined
  /** Images asked for. */
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
  /** Partial images before each whole one. */
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

/**
 * Reads a body that has been checked.
 * @throws RequestProblem 400 in the scenarios that refuse the prompt
 */
export function readParameters(request: SandboxRequest, model: string): ImageParameters {
  const { body } = request
  const family = familyOf(model)
  const prompt = textOf(body['prompt'])
  const ofModel = scenarios.find((scenario) => model === `sandbox-${scenario}`)
  const quality = qualities[wordOf(body, 'quality', 'auto')] ?? 'medium'
  const scenario = askedFor(scenarios, scenarioHeader(request), prompt) ?? ofModel
  if (scenario === 'refusal' || scenario === 'block') throw moderationBlocked('image_generation_user_error')
  return {
    family,
    prompt,
    scenario,
    count: numberOf(body['n']) ?? 1,
    size: sizeOf(wordOf(body, 'size', 'auto')),
    quality,
    detail: details[quality],
    format: wordOf(body, 'output_format', 'png') as ImageFormat,
    encoderQuality: numberOf(body['output_compression']) ?? encoderQualities[quality],
    background: wordOf(body, 'background', 'auto') as ImageParameters['background'],
    isUrl: !isModelA(family) && wordOf(body, 'response_format', 'url') === 'url',
    streams: body['stream'] === true && !request.ignoresStream,
    partials: numberOf(body['partial_images']) ?? 0,
    isVivid: wordOf(body, 'style', 'vivid') === 'vivid',
  }
}

/** Model A and its mini variant, which always answer in base64 and alone tell their usage. */
function isModelA(family: FamilyId | undefined): boolean {
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

/** Of a source image: so many, and more for every tile, once its shorter side is scaled to that of a tile. */
const sourceTokens = { base: 65, tile: 129 } as const
const fidelityTokens = { square: 4160, other: 6240 } as const

/**
 * Usage of a whole request; undefined for models other than A. All numbers add up.
 * @param images that are made
 * @param sources dimensions of the source images; they count more with high input fidelity
 */
export function usageOf(
  { family, prompt, quality, partials, streams }: ImageParameters,
  size: Size,
  images: number,
  { sources, isFaithful }: { readonly sources: readonly Size[]; readonly isFaithful: boolean },
): object | undefined {
  if (!isModelA(family)) return undefined
  const text = Math.max(1, countTokens(prompt))
  const image = sources.reduce((sum, source) => sum + tokensOfSource(source, isFaithful), 0)
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

function tokensOfSource({ width, height }: Size, isFaithful: boolean): number {
  const tiles = Math.ceil(Math.max(width, height) / Math.min(width, height))
  const extra = isFaithful ? (width === height ? fidelityTokens.square : fidelityTokens.other) : 0
  return sourceTokens.base + sourceTokens.tile * tiles + extra
}
