import { appendFileSync, closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** What the process that fuzzes is told by the one that watches it: a time for each target, or one run. */
export interface Round {
  /** Where both write what the other reads. */
  readonly folder: string
  /** Names of targets; all when there is none. */
  readonly only: readonly string[]
  readonly seed: number
  readonly sliceMs: number
  /** Only this run of the seed. */
  readonly path: string | undefined
  /** Only tells the input of that run. */
  readonly tellsInput: boolean
}

/** The variable of the environment that holds a `Round` as JSON. */
export const roundVariable = 'FUZZ_ROUND'

/** What the process that fuzzes tells. */
export type Report =
  | { readonly kind: 'begin'; readonly target: string }
  | { readonly kind: 'slice'; readonly target: string; readonly runs: number; readonly seconds: number }
  /** An entry of the corpus, as JSON. */
  | { readonly kind: 'input'; readonly text: string; readonly entry: string }
  | { readonly kind: 'failure'; readonly text: string; readonly entry: string | undefined }

const reportsOf = (folder: string) => join(folder, 'reports.jsonl')
const pulseOf = (folder: string) => join(folder, 'pulse')

export function report(folder: string, one: Report): void {
  appendFileSync(reportsOf(folder), `${JSON.stringify(one)}\n`)
}

/** All that has been told so far. */
export function readReports(folder: string): Report[] {
  const lines = textAt(reportsOf(folder)).split('\n')
  return lines.slice(0, -1).map((line) => JSON.parse(line) as Report)
}

function textAt(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** The run that is under way. */
export interface Pulse {
  readonly seed: number
  readonly run: number
  /** Different with each run and each attempt to make a counterexample smaller. */
  readonly beat: number
}

/** Writes down each run before it begins: of one that never ends, nothing else could tell. */
export function openPulse(folder: string) {
  const file = openSync(pulseOf(folder), 'w')
  const numbers = new Int32Array(3)
  return {
    write(seed: number, run: number) {
      numbers.set([seed, run, (numbers[2]! + 1) | 0])
      writeSync(file, numbers, 0, numbers.byteLength, 0)
    },
    close: () => closeSync(file),
  }
}

/** Undefined before the first run. */
export function readPulse(folder: string): Pulse | undefined {
  let bytes: Buffer
  try {
    bytes = readFileSync(pulseOf(folder))
  } catch {
    return undefined
  }
  if (bytes.length < 12) return undefined
  return { seed: bytes.readInt32LE(0), run: bytes.readInt32LE(4), beat: bytes.readInt32LE(8) }
}
