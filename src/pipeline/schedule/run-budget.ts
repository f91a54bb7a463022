import { amountText, shownAmount, type Amount } from '../../cost/amount.ts'
import { ModelgateError, UsageError, type ErrorCode } from '../../errors.ts'
import type { Spent } from '../journal/journal.ts'

export interface Spending {
  readonly creates: number
  /** By estimate; null without a price. */
  readonly cost: Amount | null
}

interface Limit<Value> {
  readonly value: Value
  /** Where it is set, for messages: `--max-creates`, `budget.creates`. */
  readonly name: string
}

/** The lower one of two limits, as far as they are set. */
export function lowest<Value extends number | bigint>(
  limits: Readonly<Record<string, Value | null | undefined>>,
) {
  const given = Object.entries(limits).flatMap(([name, value]) => (value == null ? [] : [{ value, name }]))
  const [one, other] = given
  return other !== undefined && other.value < one!.value ? other : (one ?? null)
}

export interface BudgetOptions {
  readonly creates: Limit<number> | null
  readonly cost: Limit<Amount> | null
  readonly currency: string
  readonly used: Spent
}

/** Over all processes of the run. */
export class RunBudget {
  readonly #options: BudgetOptions
  used: Spent

  constructor(options: BudgetOptions) {
    this.#options = options
    this.used = options.used
  }

  get maxCreates(): number | null {
    return this.#options.creates?.value ?? null
  }

  /** Before the intent is on the disk. @throws ModelgateError (exit 15); UsageError `price_unknown`; then nothing is taken */
  take(instance: string, needed: Spending): void {
    this.check(instance, needed)
    const { creates, cost } = this.used
    this.used = { creates: creates + needed.creates, cost: cost + (needed.cost ?? 0n) }
  }

  giveBack(spending: Spending): void {
    const { creates, cost } = this.used
    this.used = { creates: creates - spending.creates, cost: cost - (spending.cost ?? 0n) }
  }

  /** Whether something fits. @throws as `take` */
  check(what: string, needed: Spending): void {
    const { creates: most, cost: highest, currency } = this.#options
    const { creates, cost } = this.used
    if (most !== null && creates + needed.creates > most.value) {
      const wanted =
        creates === 0
          ? `${what} needs ${needed.creates}`
          : `this run has created ${creates}, and ${what} needs ${needed.creates} more`
      throw reached('creations_limit', most.name, `${most.name} ${most.value} is reached: ${wanted}.`)
    }
    if (highest === null) return
    const { name, value } = highest
    if (needed.cost === null) {
      throw new UsageError(`${name} cannot be checked: there is no price for ${what}.`, {
        code: 'price_unknown',
        phase: 'config',
        hint: `Set the prices of its model in your configuration file (docs/cost.md), or leave out ${name}.`,
      })
    }
    if (cost + needed.cost <= value) return
    const sums = `about ${shownAmount(cost)} for what this run has created, and ${shownAmount(needed.cost)} for ${what}`
    const message = `${name} ${amountText(value)} ${currency} is reached, by estimate: ${sums}.`
    throw reached('cost_limit', name, message)
  }
}

function reached(code: ErrorCode, name: string, message: string): ModelgateError {
  return new ModelgateError('limit', code, message, {
    phase: 'send',
    billed: 'no',
    hint: `Raise ${name} to continue this run, or start a new one with --new-run, which counts from 0.`,
  })
}
