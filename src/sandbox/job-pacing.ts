import type { LatencyProfile } from './http/reply.ts'

/** How long a video job or a background response is queued and runs, and when to poll it again; milliseconds. */
interface Pacing {
  readonly pendingMs: number
  readonly runningMs: number
  readonly pollMs: number
}

/** Number of steps of a job, for profiles with a duration per step. */
const steps = 10

/** Four seconds in total, or half a second with latency `none`, so that all states occur. */
export function pacingOf(latency: LatencyProfile): Pacing {
  if (latency === 'natural') return { pendingMs: 700, runningMs: 3300, pollMs: 1000 }
  if (latency === 'none') return { pendingMs: 100, runningMs: 400, pollMs: 100 }
  const stepMs = Math.round(latency)
  return { pendingMs: stepMs, runningMs: stepMs * steps, pollMs: Math.max(1, stepMs) }
}
