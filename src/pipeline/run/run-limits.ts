import { amountOf } from '../../cost/amount.ts'
import { requestsLeft } from '../plan/assessment.ts'
import type { Plan } from '../plan/plan-run.ts'
import { createRunBudget, type RunBudget } from '../schedule/run-budget.ts'
import type { OpenProject } from './open-project.ts'
import type { Run, RunCall, RunOptions } from './run-call.ts'

/** How many results may be created: of two limits the lower one is reached. */
export function limitOf({ maxCreates }: RunOptions, { manifest: { budget } }: OpenProject) {
  const limits = [
    ...(maxCreates === undefined ? [] : [{ value: maxCreates, name: '--max-creates' }]),
    ...(budget.creates === null ? [] : [{ value: budget.creates, name: 'budget.creates' }]),
  ]
  return limits.toSorted((one, other) => one.value - other.value)[0] ?? null
}

/** The lower one of the limits on costs; null where there is none. The sandbox costs nothing. */
function costLimitOf({ prices }: RunCall, { maxCost }: RunOptions, { manifest }: OpenProject) {
  const { budget, project } = manifest
  if (project.isSandbox) return null
  const limits = [
    ...(maxCost === undefined ? [] : [{ value: maxCost, name: '--max-cost' }]),
    ...(budget.cost === null ? [] : [{ value: amountOf(budget.cost), name: 'budget.cost' }]),
  ].toSorted((one, other) => (one.value < other.value ? -1 : 1))
  const currency = Object.values(prices)[0]?.currency ?? ''
  return limits[0] === undefined ? null : { ...limits[0], currency }
}

/** What the run may create and spend, those of its earlier processes included. */
export function budgetOf(
  call: RunCall,
  options: RunOptions,
  project: OpenProject,
  unfinished: OpenProject['history']['unfinished'],
): RunBudget {
  return createRunBudget({
    creates: limitOf(options, project),
    cost: costLimitOf(call, options, project),
    used: unfinished?.used ?? nothing,
  })
}

/** What has not begun has created nothing. */
const nothing = { creates: 0, cost: 0n }

/**
 * A limit on costs that cannot be checked is told before anything is sent.
 * @throws UsageError `price_unknown`
 */
export function checkPrices(
  budget: RunBudget,
  { assessments }: Plan,
  costs: Run['costs'],
  { mode }: RunOptions,
  { manifest }: OpenProject,
): void {
  if (mode !== 'run' || manifest.project.isSandbox) return
  for (const assessment of assessments.values()) {
    if (requestsLeft(assessment) === 0) continue
    const { instance } = assessment
    const cost = costs(instance)
    budget.take(instance.id, { creates: 0, cost: cost === null || cost.amount === null ? null : 0n })
  }
}
