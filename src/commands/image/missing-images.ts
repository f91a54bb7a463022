import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Context } from '../../context.ts'
import type { OutputPlan } from '../../files/output-plan.ts'

/** An image that is there already. */
export interface ExistingImage {
  /** From 1. */
  readonly index: number
  readonly path: string
}

/** Which images of a plan are there already, and which are still to be made (`--skip-existing`). */
export function missingImages(
  context: Context,
  plan: OutputPlan,
  count: number,
  extension: string,
): { wanted: number[]; existing: ExistingImage[] } {
  const wanted: number[] = []
  const existing: ExistingImage[] = []
  for (let index = 1; index <= count; index++) {
    const path = plan.pathFor({ index, extension })
    if (existsSync(resolve(context.cwd, path))) existing.push({ index, path })
    else wanted.push(index)
  }
  return { wanted, existing }
}
