import { familyOf } from '../../contract/families.ts'
import type { FamilyId } from '../../contract/families.ts'
import type { JsonObject } from '../json-value.ts'
import { numberOf, textOf } from '../json-value.ts'
import { scenarioHeader } from '../request.ts'
import type { SandboxRequest } from '../request.ts'
import { scenarioOf, scenarios } from '../answer/scenario.ts'
import type { Scenario } from '../answer/scenario.ts'
import type { Size } from './pixels/fit.ts'
import type { Detail } from './scene/brief.ts'

export type ImageFormat = 'png' | 'jpeg' | 'webp'
export type Quality = 'low' | 'medium' | 'high'

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
