import type { ImageOrder } from './order.ts'
import type { Painter } from './painter.ts'
import type { Size } from './pixels/fit.ts'

/** Accepted work of either image endpoint. */
export interface ImageJob {
  readonly order: ImageOrder
  /** Begins the names of its events: `image_generation.completed`. */
  readonly eventPrefix: 'image_generation' | 'image_edit'
  readonly id: string
  /** Seconds since 1970. */
  readonly createdAt: number
  readonly size: Size
  /** Images that will be made: fewer than asked for in some scenarios. */
  readonly count: number
  /** Usage of the whole request; undefined for models that tell none. */
  readonly usage: object | undefined
  readonly painter: Painter
  /** Aborted when nobody waits for the images any more. */
  readonly signal: AbortSignal
}

/** What replies and final events say about a picture. Legacy models tell nothing of it. */
export function traitsOf({ order, size }: ImageJob, background: string): object {
  if (order.family === 'image-model-b' || order.family === 'image-model-c') return {}
  return {
    background,
    output_format: order.format,
    quality: order.quality,
    size: `${size.width}x${size.height}`,
  }
}
