import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import type { RunMode } from '../../events/run-document.ts'
import type { RunOptions } from '../../pipeline/run/run-call.ts'
import { createProblemList } from '../../problems.ts'
import { isCiSet } from '../shared/input/questions.ts'
import { readLimits } from '../shared/options/read-limits.ts'
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

/** More parts than a runner's matrix has. */
const maxShards = 10_000

/**
 * What the flags of `run` ask for.
 * @param timeoutS the limit for the whole run
 * @throws UsageError listing everything that is wrong with them
 */
export async function readRunFlags(
  context: Pick<Context, 'env' | 'clock'>,
  flags: RunFlags,
  jobs: readonly string[],
  timeoutS: number | undefined,
): Promise<Omit<RunOptions, 'confirm' | 'isAttended'>> {
  const { check, throwIfAny } = createProblemList()
  const mode = await check(() => modeOf(context.env, flags))
  await check(() => checkNames(jobs, flags.regenerate ?? []))
  const limits = await check(() => readLimits(context, flags))
  const graceS = await check(() => graceOf(flags.grace))
  const shard = await check(() => shardOf(flags.shard))
  throwIfAny()
  return {
    jobs,
    mode: mode!,
    regenerate: flags.regenerate ?? [],
    force: flags.force === true,
    newRun: flags.newRun === true,
    maxCreates: limits!.own,
    maxCost: limits!.cost,
    graceS: graceS!,
    timeoutS,
    detach: flags.detach === true,
    shard: shard!,
  }
}

/** Where `CI` is set, a run generates nothing, unless it is told to: a wrong checkout must not cost money. */
function modeOf(env: Context['env'], flags: RunFlags): RunMode {
  if (flags.plan) return 'plan'
  if (flags.check) return 'check'
  if (flags.frozen) return 'frozen'
  if (flags.generate || !isCiSet(env)) return 'run'
  const wanting = { '--regenerate': flags.regenerate, '--new-run': flags.newRun, '--detach': flags.detach }
  const [given] = Object.entries(wanting).filter(([, value]) => value !== undefined)
  if (given === undefined) return 'frozen'
  throw new UsageError(`${given[0]} needs --generate: where CI is set, nothing is generated without it.`, {
    code: 'invalid_request',
  })
}

function checkNames(jobs: readonly string[], regenerate: readonly string[]): void {
  if (jobs.includes('')) throw new UsageError('The name of a job is empty.')
  if (regenerate.includes('')) throw new UsageError('--regenerate needs the name of a job.')
}

export function graceOf(text: string | undefined): number {
  if (text === undefined) return defaultGrace
  const seconds = /^\d{1,3}(\.\d{1,3})?$/.test(text.trim()) ? Number(text) : NaN
  if (seconds <= maxGrace) return seconds
  throw new UsageError(
    `--grace must be a number of seconds from 0 to ${maxGrace}, not ${JSON.stringify(text.slice(0, 40))}.`,
  )
}

function shardOf(text: string | undefined): RunOptions['shard'] {
  if (text === undefined) return null
  const [, index, total] = /^(\d{1,5})\/(\d{1,5})$/.exec(text.trim()) ?? []
  const shard = { index: Number(index), total: Number(total) }
  if (shard.index >= 1 && shard.index <= shard.total && shard.total <= maxShards) return shard
  throw new UsageError(
    `--shard must be a part and how many there are, such as 2/5, not ${JSON.stringify(text.slice(0, 40))}.`,
  )
}
