import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import type { RunMode } from '../../events/run-document.ts'
import { defaultLanes } from '../../pipeline/manifest/manifest-fields.ts'
import { lanes, type Lane } from '../../pipeline/manifest/manifest.ts'
import type { WorkerOptions } from '../../pipeline/queue/worker/worker-call.ts'
import type { RunOptions } from '../../pipeline/run/run-state.ts'
import { createProblemList } from '../../problems.ts'
import { isCiSet } from '../shared/input/questions.ts'
import type { CommonOptions } from '../shared/options/common-options.ts'
import type { ManifestOptions } from './manifest-command.ts'

export interface RunFlags extends ManifestOptions {
  plan?: true
  check?: true
  frozen?: true
  generate?: true
  regenerate?: string[]
  yes?: true
  newRun?: true
  grace?: string
  shard?: string
  queue?: string
  store?: string
  detach?: true
}

/** How long a stopped run lets requests end that are under way, in seconds. */
export const defaultGrace = 5
const maxGrace = 600

const maxShards = 10_000

/** Where `CI` is set, a run generates nothing, unless a flag allows it: a wrong checkout must not cost money. */
export function modeOf(env: Context['env'], flags: RunFlags): RunMode {
  if (flags.plan) return 'plan'
  if (flags.check) return 'check'
  if (flags.frozen) return 'frozen'
  if (flags.generate || !isCiSet(env)) return 'run'
  const wanting = { '--regenerate': flags.regenerate, '--new-run': flags.newRun, '--detach': flags.detach }
  const given = Object.entries(wanting).find(([, value]) => value !== undefined)
  if (given === undefined) return 'frozen'
  throw new UsageError(`${given[0]} needs --generate: where CI is set, nothing is generated without it.`, {
    code: 'invalid_request',
  })
}

function refuse(flag: string, wanted: string, text: string): never {
  throw new UsageError(`${flag} must ${wanted}, not ${JSON.stringify(text.slice(0, 40))}.`)
}

export function graceOf(text = `${defaultGrace}`): number {
  const seconds = /^\d{1,3}(\.\d{1,3})?$/.test(text.trim()) ? Number(text) : NaN
  if (seconds <= maxGrace) return seconds
  return refuse('--grace', `be a number of seconds from 0 to ${maxGrace}`, text)
}

export function shardOf(text: string | undefined): RunOptions['shard'] {
  if (text === undefined) return null
  const [, index, total] = /^(\d{1,5})\/(\d{1,5})$/.exec(text.trim()) ?? []
  const shard = { index: Number(index), total: Number(total) }
  if (shard.index >= 1 && shard.index <= shard.total && shard.total <= maxShards) return shard
  return refuse('--shard', 'be a part and the number of parts, such as 2/5', text)
}

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

/** @throws UsageError listing everything that is wrong with them */
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
  const all: Record<Lane, number> = { ...defaultLanes }
  const named = new Set<string>()
  for (const part of text.split(',')) {
    const [, name = '', count] = /^\s*(\w+)=(\d{1,4})\s*$/.exec(part) ?? []
    const lane = lanes.find((one) => one === name)
    if (lane === undefined || named.has(lane) || Number(count) > maxPlaces) {
      const example = 'such as text=16,image=4,video=0'
      return refuse('--lanes', `say how many requests at once, up to ${maxPlaces}, ${example}`, text)
    }
    named.add(lane)
    all[lane] = Number(count)
  }
  if (lanes.every((lane) => all[lane] === 0)) {
    throw new UsageError('With these --lanes the worker would take nothing.')
  }
  return all
}

function rateOf(text: string | undefined): WorkerOptions['rate'] {
  if (text === undefined) return null
  const [, digits, unit] = /^(\d{1,6})\/(s|m)$/.exec(text.trim()) ?? []
  const requests = Number(digits)
  if (requests >= 1 && requests <= maxRate) return { requests, perMs: unit === 's' ? 1000 : 60_000 }
  return refuse('--rate', 'be a number of requests in a second or a minute, such as 20/s or 600/m', text)
}
