import { hash } from 'node:crypto'

/** A number in [0, 1), the same sequence for the same seed. */
export type Random = () => number

type SeedPart = string | number

/** A random number generator (mulberry32) seeded with anything: the sandbox's seed, a model, a prompt. */
export function seededRandom(...seed: readonly SeedPart[]): Random {
  let state = digest(seed).readUInt32LE(0)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Repeatable digits for ids; at most 64. */
export function seededHex(length: number, ...seed: readonly SeedPart[]): string {
  return digest(seed).toString('hex').slice(0, length)
}

export function pick<Value>(random: Random, values: readonly Value[]): Value {
  return values[Math.floor(random() * values.length)]!
}

function digest(seed: readonly SeedPart[]): Buffer {
  return hash('sha256', JSON.stringify(seed), 'buffer')
}
