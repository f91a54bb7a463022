import { describe, expect, test } from 'vitest'
import { amountOf } from '../../../src/cost/amount.ts'
import { RunBudget, type BudgetOptions } from '../../../src/pipeline/schedule/run-budget.ts'
import { failureOf } from '../../support/config-place.ts'

const nothing = { creates: 0, cost: 0n }
const budgetOf = (options: Partial<BudgetOptions>) =>
  new RunBudget({ creates: null, cost: null, currency: 'USD', used: nothing, ...options })
const creates = (count: number) => ({ creates: count, cost: null })
const costs = (amount: number) => ({ creates: 1, cost: amountOf(amount) })
const goOn = (name: string) =>
  `hint: Raise ${name} to continue this run, or start a new one with --new-run, which counts from 0.`

describe('the number of creations', () => {
  test('is a hard stop, which names what is reached and takes nothing', async () => {
    const budget = budgetOf({ creates: { value: 3, name: '--max-creates' } })
    const refusalOf = (name: string, count: number) => failureOf(() => budget.take(name, creates(count)))
    budget.take('hero', creates(2))
    expect(await refusalOf('boat', 2)).toBe(
      `15 creations_limit (send)\n--max-creates 3 is reached: this run has created 2, and boat needs 2 more.\n${goOn('--max-creates')}`,
    )
    expect(budget.used.creates).toBe(2)
    budget.take('boat', creates(1))
    expect(await refusalOf('pier', 1)).toContain('this run has created 3, and pier')
  })

  test('gets back what was released', () => {
    const budget = budgetOf({ creates: { value: 1, name: '--max-creates' } })
    for (let times = 0; times < 3; times++) {
      budget.take('hero', creates(1))
      budget.giveBack(creates(1))
    }
    expect(budget.used.creates).toBe(0)
  })

  test('can be held against the whole plan before anything is sent', async () => {
    const budget = budgetOf({ creates: { value: 40, name: 'budget.creates' } })
    budget.check('the plan', creates(40))
    expect(await failureOf(() => budget.check('the plan', creates(41)))).toBe(
      `15 creations_limit (send)\nbudget.creates 40 is reached: the plan needs 41.\n${goOn('budget.creates')}`,
    )
    expect(budget.used.creates).toBe(0)
  })
})

describe('the cost', () => {
  const cost = { value: amountOf(0.3), name: '--max-cost' }

  test('is exact, and an estimate', async () => {
    const budget = budgetOf({ cost })
    // In binary numbers these are more than 0.3.
    for (let times = 0; times < 3; times++) budget.take('hero', costs(0.1))
    expect(await failureOf(() => budget.take('boat', costs(0.000_000_001)))).toBe(
      `15 cost_limit (send)\n--max-cost 0.3 USD is reached, by estimate: about 0.30 for what this run has created, and 0.000000001 for boat.\n${goOn('--max-cost')}`,
    )
    budget.giveBack(costs(0.1))
    budget.take('boat', costs(0.1))
  })

  test('refuses what nobody can estimate', async () => {
    expect(await failureOf(() => budgetOf({ cost }).take('hero', creates(1)))).toBe(
      '2 price_unknown (config)\n--max-cost cannot be checked: there is no price for hero.\nhint: Set the prices of its model in your configuration file (docs/cost.md), or leave out --max-cost.',
    )
  })
})
