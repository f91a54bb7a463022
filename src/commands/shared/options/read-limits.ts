import type { Context } from '../../../context.ts'
import { amountFrom } from '../../../cost/amount.ts'
import { ConfigError, UsageError } from '../../../errors.ts'
import { localMinute, midnight } from '../../../local-time.ts'
import type { SpendingLimits } from '../../../operations/spending-limits.ts'
import { createProblemList } from '../../../problems.ts'
import type { CommonOptions } from './common-options.ts'
import { parseSince } from './since.ts'

/** Both hold: no flag raises the limits of the environment. */
export async function readLimits(
  { env, clock }: Pick<Context, 'env' | 'clock'>,
  { maxCreates, maxCost }: CommonOptions,
): Promise<SpendingLimits> {
  const { check, throwIfAny } = createProblemList()
  const now = clock.now()
  const own = await check(() => countOf('--max-creates', maxCreates, UsageError))
  const all = await check(() => countOf(limitVariable, env[limitVariable] || undefined, ConfigError))
  const cost = await check(() => amountOf(maxCost))
  const from = env[sinceVariable]
  const since = await check(() => (from ? parseSince(sinceVariable, from, now) : midnight(now)))
  throwIfAny()
  return { own, all, cost, since: since!, sinceText: localMinute(since!) }
}

const limitVariable = 'MODELGATE_MAX_CREATES'
const sinceVariable = 'MODELGATE_COUNT_SINCE'

function countOf(name: string, text: string | undefined, Wrong: new (message: string) => UsageError) {
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text.trim())) return Number(text)
  throw new Wrong(`${name} must be a whole number from 0, not ${JSON.stringify(text.slice(0, 40))}.`)
}

function amountOf(text: string | undefined) {
  if (text === undefined) return undefined
  const amount = /^\d{1,12}(\.\d{1,18})?$/.test(text.trim()) ? amountFrom(text.trim()) : undefined
  if (amount !== undefined) return amount
  const problem = `must be an amount such as 2.50, not ${JSON.stringify(text.slice(0, 40))}`
  throw new UsageError(`--max-cost ${problem}; its currency is that of your prices.`)
}
