import { createReadStream, existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Context } from '../../context.ts'
import { FileError, ModelgateError } from '../../errors.ts'
import { imageKind } from '../../files/image-inspector.ts'
import { sniffMediaType } from '../../files/media-type.ts'
import type { OutputPlan } from '../../files/output-plan.ts'
import { describeInputFile } from '../../files/read-input-file.ts'

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

/**
 * What is there and is no image, which no run of this command left there. To make it would be to overwrite it; to skip
 * it, to say that all is well.
 */
export async function existingProblems(
  context: Context,
  existing: readonly ExistingImage[],
): Promise<FileError[]> {
  const problems = existing.map(async ({ path }) => {
    const found = await describeInputFile(context, path, { maxBytes: Infinity, pipes: false })
    if (found instanceof ModelgateError) return [problem(found.code, found.message)]
    const isImage = sniffMediaType(found.head)?.startsWith('image/')
    if (!isImage) return [problem('not_an_image', `${JSON.stringify(path)} is no image.`)]
    const damage = await damageOf(context, path)
    return damage === undefined
      ? []
      : [problem('damaged_image', `${JSON.stringify(path)} is damaged: ${damage}.`)]
  })
  return (await Promise.all(problems)).flat()
}

/** What is wrong with an image, as the end of a sentence. */
async function damageOf(context: Context, path: string): Promise<string | undefined> {
  const inspector = imageKind.createInspector()
  for await (const chunk of createReadStream(resolve(context.cwd, path)) as AsyncIterable<Buffer>) {
    inspector.add(chunk)
  }
  return inspector.inspect().integrity.damage
}

function problem(code: string, message: string): FileError {
  return new FileError(code, message, {
    phase: 'input',
    hint: '--skip-existing takes it for an image that was made. Remove it, or choose another name.',
  })
}
