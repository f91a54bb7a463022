import type { WorkerOptions } from '../../pipeline/queue/worker/worker-call.ts'
import { lanes, type Lane } from '../../pipeline/manifest/manifest.ts'
import { defaultLanes } from '../../pipeline/manifest/manifest-fields.ts'
import { UsageError } from '../../errors.ts'
import { createProblemList } from '../../problems.ts'
import type { CommonOptions } from '../shared/options/common-options.ts'
import { graceOf } from './run-flags.ts'

export interface WorkerFlags extends CommonOptions {
  queue?: string
  store?: string
  lanes?: string
  rate?: string
  untilEmpty?: true
  grace?: string
}

const maxPlaces = 1000
const maxRate = 100_000

/**
 * What the flags of `run worker` ask for.
 * @throws UsageError listing everything that is wrong with them
 */
export async function readWorkerFlags(flags: WorkerFlags): Promise<WorkerOptions> {
  const { check, throwIfAny } = createProblemList()
  const places = await check(() => placesOf(flags.lanes))
  const rate = await check(() => rateOf(flags.rate))
  const graceS = await check(() => graceOf(flags.grace))
  throwIfAny()
  return { places: places!, rate: rate ?? null, graceS: graceS!, untilEmpty: flags.untilEmpty === true }
}

/** `text=16,image=4`: what is not named has as many as usual. */
function placesOf(text: string | undefined): WorkerOptions['places'] {
  if (text === undefined) return defaultLanes
  const entries = text.split(',').map((part) => /^\s*(\w+)=(\d{1,4})\s*$/.exec(part) ?? [])
  const named = new Map(entries.map(([, lane, count]) => [lane, Number(count)]))
  const isValid =
    named.size === entries.length &&
    [...named].every(([lane, count]) => lanes.includes(lane as Lane) && count <= maxPlaces)
  const all = { ...defaultLanes, ...(Object.fromEntries(named) as Partial<Record<Lane, number>>) }
  if (!isValid) {
    throw new UsageError(
      `--lanes must say how many requests at once, up to ${maxPlaces}, such as text=16,image=4,video=0, not ${JSON.stringify(text.slice(0, 40))}.`,
    )
  }
  if (Object.values(all).every((count) => count === 0)) {
    throw new UsageError('With these --lanes the worker would take nothing.')
  }
  return all
}

/** `20/s` or `600/m`. */
function rateOf(text: string | undefined): WorkerOptions['rate'] {
  if (text === undefined) return null
  const [, digits, unit] = /^(\d{1,6})\/(s|m)$/.exec(text.trim()) ?? []
  const requests = Number(digits)
  if (requests >= 1 && requests <= maxRate) return { requests, perMs: unit === 's' ? 1000 : 60_000 }
  throw new UsageError(
    `--rate must be a number of requests in a second or a minute, such as 20/s or 600/m, not ${JSON.stringify(text.slice(0, 40))}.`,
  )
}
