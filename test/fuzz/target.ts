import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** How long a run takes: under 50 microseconds, under 250, under two milliseconds, or longer. */
type Cost = 'trivial' | 'cheap' | 'moderate' | 'dear'

/** Something that takes bytes, text or values from outside, and what it promises for all of them. */
export interface Target<Input> {
  /** Names it for `npm run fuzz -- --only`, and names its file in the corpus. */
  readonly name: string
  readonly promises: string
  readonly cost: Cost
  /** How many the slow tests make, where that is more than for others of the same cost. */
  readonly runs?: number
  /** Anything that it may be given: JSON values and byte arrays, so that an input can be kept in the corpus. */
  readonly input: fc.Arbitrary<Input>
  /**
   * Fails when the promise is broken.
   * @param folder a folder for all runs of this target, empty before the first
   */
  check(input: Input, folder: string): void | Promise<void>
}

/** With the types of its input checked against each other, and forgotten. */
export const target = <Input>(one: Target<Input>): Target<unknown> => one as Target<unknown>

interface FuzzRun {
  readonly seed: number
  /** How many runs, from the first. */
  readonly runs: number
  /** Only the run at this path, as a failure names it. */
  readonly path?: string | undefined
}

/** An input that breaks a promise, as small as it could be made. */
export class Counterexample extends Error {
  override readonly name = 'Counterexample'
  readonly input: unknown
  /** What went wrong with it. */
  readonly reason: string

  constructor({ name, promises }: Target<unknown>, found: fc.RunDetails<[unknown]>) {
    const { seed, counterexamplePath, counterexample, errorInstance, numRuns, numShrinks } = found
    const reason = errorInstance instanceof Error ? (errorInstance.stack ?? '') : String(errorInstance)
    super(
      [
        `${name} does not hold: ${promises}`,
        `Input: ${shownInput(counterexample?.[0])}`,
        `Run ${numRuns} with seed ${seed}, made smaller ${numShrinks} times, path ${counterexamplePath}.`,
        `Again: npm run fuzz -- --only ${name} --seed ${seed} --path ${counterexamplePath}`,
        reason,
      ].join('\n'),
    )
    this.input = counterexample?.[0]
    this.reason = reason
  }
}

/** @throws Counterexample */
export async function fuzz(one: Target<unknown>, { seed, runs, path }: FuzzRun): Promise<void> {
  const folder = temporaryFolder()
  const property = fc.asyncProperty(one.input, (input) => checkOnce(one, input, folder))
  const found = await fc.check(property, {
    seed,
    numRuns: runs,
    ...(path !== undefined && { path }),
  })
  if (found.failed) throw new Counterexample(one, found)
}

async function checkOnce(one: Target<unknown>, input: unknown, folder: string): Promise<void> {
  const before = prototypeSizes()
  await one.check(input, folder)
  if (prototypeSizes() !== before) throw new Error('A prototype has been changed.')
}

/** Number of properties of what all objects inherit from. */
function prototypeSizes(): number {
  const shared = [Object.prototype, Array.prototype, String.prototype, Function.prototype]
  return shared.reduce<number>((sum, prototype) => sum + Reflect.ownKeys(prototype).length, 0)
}

/** An input that broke a promise before. */
interface CorpusEntry {
  readonly what: string
  readonly input: unknown
}

/** What is kept in the corpus for a target; nothing for most of them. */
function corpusOf(name: string): readonly CorpusEntry[] {
  let text: string
  try {
    text = readFileSync(new URL(`corpus/${name}.json`, import.meta.url), 'utf8')
  } catch {
    return []
  }
  return JSON.parse(text, (_, value: { $bytes?: unknown } | null) =>
    typeof value?.$bytes === 'string' ? Buffer.from(value.$bytes, 'base64') : value,
  ) as CorpusEntry[]
}

/** The same entries as text for its file. */
export function corpusText(entries: readonly CorpusEntry[]): string {
  // A Buffer would be made a list of numbers before a replacer sees it.
  const writable = (value: unknown): unknown => {
    if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString('base64') }
    if (Array.isArray(value)) return value.map(writable)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, writable(inner)]))
  }
  return `${JSON.stringify(writable(entries), null, 2)}\n`
}

/** Tries what is in the corpus again. */
export async function replayCorpus(one: Target<unknown>): Promise<void> {
  const folder = temporaryFolder()
  for (const { what, input } of corpusOf(one.name)) {
    try {
      await checkOnce(one, input, folder)
    } catch (error) {
      throw new Error(`${one.name}: an input of the corpus (${what}): ${shownInput(input)}`, { cause: error })
    }
  }
}

/** Long enough for any input that fast-check has made smaller. */
const shownCharacters = 20_000

function shownInput(input: unknown): string {
  const text = fc.stringify(input)
  return text.length <= shownCharacters
    ? text
    : `${text.slice(0, shownCharacters)}… (${text.length} characters)`
}
