import { randomHex, sleep } from '../../../context.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { patiently } from '../patiently.ts'
import type { Worker } from './worker-call.ts'

/** A permit is used within so many milliseconds of asking for it: later, another request may count on its place in the rate. */
const freshMs = 150

/** A queue's server may take longer each time: after so many old permits the request goes out all the same. */
const maxOldPermits = 3

/**
 * The gateway for the requests of one task. Where there is a rate, each takes a place in it just before it goes out: a look-up,
 * a download, and a request whose permit has become old.
 * @param permitAt when the intent, which takes a place itself, was asked for, on the monotonic clock; undefined for a look-up
 */
export function taskGateway(worker: Worker, permitAt?: number): Gateway {
  const { context, intents, options, shared, stop } = worker
  const gateway: Gateway = { ...shared.gateway, signal: stop.inFlight }
  if (options.rate === null) return gateway
  const { clock } = context
  const isFresh = (askedAt: number) => clock.monotonic() - askedAt < freshMs
  let isUnused = permitAt !== undefined
  return {
    ...gateway,
    async beforeSend(kind) {
      await shared.gateway.beforeSend?.(kind)
      const isPermitted = isUnused && kind !== 'read' && isFresh(permitAt!)
      if (kind !== 'read') isUnused = false
      if (isPermitted) return
      for (let old = 0; old < maxOldPermits;) {
        const id = randomHex(clock, 16)
        let askedAt = 0
        const waitMs = await patiently(worker, stop.inFlight, () => {
          askedAt = clock.monotonic()
          return intents.beginLookUp(id)
        })
        if (waitMs > 0) await sleep(clock, waitMs, stop.inFlight)
        else if (isFresh(askedAt)) return
        else old++
      }
    },
  }
}
