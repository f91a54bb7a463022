import { randomHex, sleep } from '../../../context.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { patiently } from '../patiently.ts'
import type { Worker } from './worker-call.ts'

/** A permit is used within so many milliseconds: later, another request may count on its place in the rate. */
const freshMs = 150

/**
 * The gateway for the requests of one task. Where there is a rate, each takes a place in it just before it goes out: a look-up,
 * a download, and a request whose permit has become old.
 * @param permitAt when the intent was written, which took a place itself, on the monotonic clock; undefined for a look-up
 */
export function taskGateway(worker: Worker, permitAt?: number): Gateway {
  const { context, intents, options, shared, stop } = worker
  const gateway: Gateway = { ...shared.gateway, signal: stop.inFlight }
  if (options.rate === null) return gateway
  const { clock } = context
  let isUnused = permitAt !== undefined
  return {
    ...gateway,
    async beforeSend(kind) {
      await shared.gateway.beforeSend?.(kind)
      const isPermitted = isUnused && kind !== 'read' && clock.monotonic() - permitAt! < freshMs
      if (kind !== 'read') isUnused = false
      if (isPermitted) return
      const id = randomHex(clock, 16)
      for (;;) {
        const waitMs = await patiently(worker, stop.inFlight, () => intents.beginLookUp(id))
        if (waitMs === 0) return
        await sleep(clock, waitMs, stop.inFlight)
      }
    },
  }
}
