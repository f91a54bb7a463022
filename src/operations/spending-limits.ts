import { amountFrom, amountText, shownAmount, type Amount } from '../cost/amount.ts'
import type { Creation } from '../cost/creation.ts'
import type { KnownCost } from '../cost/estimate.ts'
import { ModelgateError, UsageError, type ErrorFacts, type ErrorCode } from '../errors.ts'
import type { Count } from '../files/calls/call-book.ts'
import { countsBefore } from '../files/calls/read-calls.ts'
import { leadTo, nextCommand } from '../files/next-command.ts'
import { counted } from '../quantities.ts'

export interface SpendingLimits {
  readonly own?: number | undefined
  /** How much all commands of this machine together may create since a time. */
  readonly all?: number | undefined
  /** What they may cost since then, by estimate. */
  readonly cost?: Amount | undefined
  /** Milliseconds since 1970. */
  readonly since: number
  /** The same for messages: `2026-11-22 00:00`. */
  readonly sinceText: string
}

type Warn = (message: string) => void

/** @param own how much the command has created so far @throws ModelgateError (exit 15) */
export function checkOwn({ own: limit }: SpendingLimits, own: number, { count, of }: Creation): void {
  if (limit === undefined || own + count <= limit) return
  const before = own === 0 ? '' : `it has created ${own}, and `
  throw reached(
    'creations_limit',
    `--max-creates ${limit} is reached: ${before}this would create ${counted(count, of)}${own === 0 ? '' : ' more'}.`,
    { hint: 'Raise --max-creates, or ask for less.' },
  )
}

/** Whether a call can be held against `--max-cost` at all. @param known its estimate; undefined without a price for it */
export function checkPrice({ model }: Creation, known: KnownCost | undefined, warn: Warn): void {
  if (known === undefined) {
    const subject = model ?? 'the model that the gateway chooses'
    throw new UsageError(`--max-cost cannot be checked: there is no price for this call of ${subject}.`, {
      code: 'price_unknown',
      phase: 'config',
      hint: `Set prices.${model ?? 'MODEL'} in your configuration file (docs/cost.md), or leave out --max-cost.`,
    })
  }
  if (known.without !== undefined) {
    warn(`The estimate for --max-cost leaves out ${known.without}, which is not known yet.`)
  }
}

/**
 * What all commands of this machine have created since a time, up to the line of a call in their book.
 * @returns holds a call against the limits of all commands, by the id of its line: @throws ModelgateError (exit 15);
 *   UsageError
 */
export function createdSince(folder: string, { all, cost, since, sinceText }: SpendingLimits, warn: Warn) {
  const read = new Map<string, number>()
  let created = 0
  /** Creations whose cost is not known. */
  let unpriced = 0
  /** By currency, with the number of creations. */
  const costs = new Map<string, { readonly amount: Amount; readonly creations: number }>()

  /** @param line undefined for one that is damaged, which is taken for a creation */
  const add = (line: Count | undefined, place: string) => {
    if (line === undefined) warn(`A record is damaged (${place}): it counts as a creation.`)
    const { count, amount, was, currency } = line ?? { count: 1, amount: null }
    created += count
    if (was !== undefined) addCost(was, currency, -1)
    if (amount !== undefined) addCost(amount, currency, 1)
  }
  const addCost = (text: string | null, currency: string | null | undefined, sign: 1 | -1) => {
    if (text === null || currency == null) return void (unpriced += sign)
    const before = costs.get(currency) ?? { amount: 0n, creations: 0 }
    const amount = before.amount + BigInt(sign) * (amountFrom(text) ?? 0n)
    costs.set(currency, { amount, creations: before.creations + sign })
  }
  const checkCost = (limit: Amount, { amount, currency }: KnownCost) => {
    for (const [other, { creations }] of costs) {
      if (other === currency || creations <= 0) continue
      const message = `--max-cost cannot be checked: since ${sinceText} there were costs in ${other} and ${currency}.`
      const hint = 'To continue, count from a later time with MODELGATE_COUNT_SINCE.'
      throw new UsageError(message, { code: 'price_unknown', phase: 'config', hint })
    }
    const spent = costs.get(currency)?.amount ?? 0n
    if (spent + amount > limit) {
      const parts = `${shownAmount(spent)} since ${sinceText}, and about ${shownAmount(amount)} for this call`
      throw reached(
        'cost_limit',
        `--max-cost ${amountText(limit)} ${currency} is reached, by estimate: ${parts}.`,
        leadTo('Raise --max-cost, or look at what was spent: ', usageSince(sinceText)),
      )
    }
    if (unpriced <= 0) return
    const [calls, whose] = unpriced === 1 ? ['call', 'its'] : ['calls', 'their']
    warn(
      `The estimate for --max-cost leaves out ${unpriced} earlier ${calls} since ${sinceText}: ${whose} cost is not known.`,
    )
  }
  return (id: string, { count, of }: Creation, known: KnownCost | undefined): void => {
    for (const line of countsBefore(id, folder, since, read)) add(line.count, line.place)
    if (all !== undefined && created + count > all) {
      throw reached(
        'creations_limit',
        `MODELGATE_MAX_CREATES=${all} is reached: ${created} created since ${sinceText}, and this would be ${counted(count, of)} more.`,
        leadTo(
          'Raise MODELGATE_MAX_CREATES, or count from a later time with MODELGATE_COUNT_SINCE; see what was created: ',
          usageSince(sinceText),
        ),
      )
    }
    if (cost !== undefined && known !== undefined) checkCost(cost, known)
  }
}

/** With a limit, whatever cannot be counted is not sent. */
export function cannotCount(error: unknown): unknown {
  if (!(error instanceof ModelgateError) || error.exit !== 'io') return error
  const message = `What is created cannot be counted, so nothing was sent: ${error.message}`
  return error.amend({ message, phase: 'send', billed: 'no' })
}

function reached(code: ErrorCode, message: string, facts: Pick<ErrorFacts, 'hint' | 'next'>): ModelgateError {
  const all = { phase: 'send', billed: 'no', ...facts } as const
  return new ModelgateError('limit', code, `${message} Nothing was sent.`, all)
}

function usageSince(sinceText: string) {
  return nextCommand(['modelgate', 'usage', '--since', sinceText.replace(' ', 'T')])
}
