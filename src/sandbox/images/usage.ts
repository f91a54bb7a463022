import { countTokens } from '../answer/tokens.ts'
import type { ImageOrder } from './order.ts'
import type { Size } from './pixels/fit.ts'

/** Tokens of one image by quality and shape, as the public service counts them (wire facts, section "Images"). */
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
