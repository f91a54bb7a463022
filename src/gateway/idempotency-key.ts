import type { Clock } from '../context.ts'

/**
 * A new `Idempotency-Key`: a UUID of version 7, from the time and 74 random bits.
 * It has to be unique, not secret; loading node:crypto for it would take a tenth of a whole request.
 */
export function mintIdempotencyKey(clock: Clock): string {
  const time = Math.floor(clock.now()).toString(16).padStart(12, '0').slice(-12)
  const random = (digits: number) =>
    Array.from({ length: digits }, () => Math.floor(clock.random() * 16).toString(16)).join('')
  const variant = '89ab'[Math.floor(clock.random() * 4)]
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random(3)}-${variant}${random(3)}-${random(12)}`
}
