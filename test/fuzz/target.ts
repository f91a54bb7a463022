import * as fc from 'fast-check'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** How long a run takes: under 50 microseconds, under 250, under two milliseconds, or longer. */
type Cost = 'trivial' | 'cheap' | 'moderate' | 'dear'

/** Something that takes bytes, text or values from outside, and what it promises for all of them. */
export interface Target<Input> {
  /** Names it for `npm run fuzz -- --only`. */
  readonly name: string
  readonly promises: string
  readonly cost: Cost
  /** How many the slow tests make, where that is more than for others of the same cost. */
  readonly runs?: number
  readonly input: fc.Arbitrary<Input>
  /**
   * Fails when the promise is broken.
   * @param folder a folder for all runs of this target, empty before the first
   */
  check(input: Input, folder: string): void | Promise<void>
}

/** With the types of its input checked against each other, and forgotten. */
export const target = <Input>(one: Target<Input>): Target<unknown> => one as Target<unknown>

/**
 * @param runs how many, from the first
 * @param path only the run there, as a failure names it
 * @throws with an input that breaks the promise, as small as it could be made
 */
export async function fuzz(
  { name, promises, input, check }: Target<unknown>,
  { seed, runs, path }: { readonly seed: number; readonly runs: number; readonly path?: string | undefined },
): Promise<void> {
  const folder = temporaryFolder()
  const property = fc.asyncProperty(input, async (value) => {
    const before = prototypeSizes()
    await check(value, folder)
    if (prototypeSizes() !== before) throw new Error('A prototype has been changed.')
  })
  const found = await fc.check(property, { seed, numRuns: runs, ...(path !== undefined && { path }) })
  if (!found.failed) return
  const again = `npm run fuzz -- --only ${name} --seed ${seed} --path ${found.counterexamplePath}`
  const shown = fc.stringify(found.counterexample![0]).slice(0, 20_000)
  throw new Error(`${name} does not hold: ${promises}\nInput: ${shown}\nAgain: ${again}`, {
    cause: found.errorInstance,
  })
}

/** Number of properties of what all objects inherit from. */
function prototypeSizes(): number {
  const shared = [Object.prototype, Array.prototype, String.prototype, Function.prototype]
  return shared.reduce<number>((sum, prototype) => sum + Reflect.ownKeys(prototype).length, 0)
}
