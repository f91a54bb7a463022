import { systemClock, type Clock } from '../../src/context.ts'

/** For a sandbox whose videos take no time. */
export const fastClock: Clock = {
  ...systemClock,
  now: () => systemClock.now() * 20,
  monotonic: () => systemClock.monotonic() * 20,
}
