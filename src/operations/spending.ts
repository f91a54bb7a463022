import { amountNumber, amountText, shownAmount } from '../cost/amount.ts'
import type { Creation } from '../cost/creation.ts'
import type { Cost, KnownCost } from '../cost/estimate.ts'
import type { Prices } from '../cost/prices.ts'
import { billedByFacts, ModelgateError } from '../errors.ts'
import type { CostEstimate } from '../events/cost.ts'
import type { OutputDocument } from '../events/documents.ts'
import type { Ledger } from '../files/ledger.ts'
import type { SpendingLimits } from './spending-limits.ts'

/** Counts what one command creates, keeps it within its limits, and knows what it costs. */
export interface Spending {
  /** For `Gateway.admit`. @throws ModelgateError when a limit is reached, or cannot be checked */
  admit(creation: Creation): Promise<(error: unknown) => void>
  /** The document of an operation that has ended, with the cost of what it created. */
  withCost<Document extends OutputDocument>(document: Document): Promise<Document>
}

interface SpendingParts {
  /** Several commands, or the requests of one, may share it. */
  readonly ledger: Ledger
  readonly prices: Prices
  /** The sandbox of `--sandbox` creates nothing that counts, and costs nothing. */
  readonly isSandbox: boolean
  readonly limits: SpendingLimits | undefined
  /** How much the command has created; several spendings of one command share it. */
  readonly own?: { created: number }
  warn(message: string): void
}

/** The last request that was admitted, and its line in the ledger if it has one. */
interface Admitted {
  readonly creation: Creation
  readonly known: KnownCost | undefined
  readonly id: string | undefined
}

/** The spending of one command, whatever number of requests it sends one after the other. */
export function createSpending(parts: SpendingParts): Spending {
  const { ledger, prices, isSandbox, limits, own = { created: 0 }, warn } = parts
  const isPriced = Object.keys(prices).length > 0
  // What most calls do not need is loaded by those that have limits or prices.
  const checks = () => import('./spending-limits.ts')
  let last: Admitted | undefined

  /** @returns the id of the line; undefined where there is none, and none is needed */
  const enter = async (creation: Creation, known: KnownCost | undefined): Promise<string | undefined> => {
    const { model, of, count } = creation
    const isLimited = limits?.all !== undefined || limits?.cost !== undefined
    const amount = known === undefined ? null : amountText(known.amount)
    const entry = { count, of, model, amount, currency: known?.currency ?? null }
    // A full disk must not stop those who have set no limit.
    if (!isLimited) return ledger.add(entry, false).catch(() => undefined)
    const { cannotCount, checkAll } = await checks()
    const id = await ledger.add(entry, true).catch((error: unknown) => {
      throw cannotCount(error)
    })
    try {
      checkAll(limits, creation, known, ledger.createdBefore(limits.since, id), warn)
    } catch (error) {
      await ledger.giveBack(id)
      throw cannotCount(error)
    }
    return id
  }

  return {
    async admit(creation) {
      last = undefined
      const limit = limits && (await checks())
      limit?.checkOwn(limits!, own.created, creation)
      // At once, so that no other request gets past the limit meanwhile.
      own.created += creation.count
      try {
        let known: KnownCost | undefined
        if (isPriced) {
          const cost = (await import('../cost/estimate.ts')).costBefore(prices, creation)
          if (cost.amount !== null) known = cost
        }
        if (limits?.cost !== undefined && !isSandbox) limit!.checkPrice(creation, known, warn)
        const id = isSandbox ? undefined : await enter(creation, known)
        last = { creation, known, id }
        return (error) => {
          // Only what certainly was not accepted.
          if (!(error instanceof ModelgateError) || billedByFacts(error) !== 'no') return
          own.created -= creation.count
          last = undefined
          if (id !== undefined) void ledger.giveBack(id)
        }
      } catch (error) {
        own.created -= creation.count
        throw error
      }
    },
    async withCost(document) {
      if (!isPriced || !('cost' in document)) return document
      const { costOfDocument } = await import('./document-cost.ts')
      const cost = costOfDocument(prices, document, last?.creation)
      const job = 'id' in document && !isSandbox ? document.id : null
      if (cost === undefined) {
        if (last?.id !== undefined && job !== null) await ledger.noteJob(last.id, job)
        return document
      }
      // A background answer may have been asked for by another command.
      const id = last === undefined && job !== null ? ledger.creationOf(job) : last?.id
      if (cost.amount !== null && id !== undefined && cost.amount !== last?.known?.amount) {
        await ledger.correct(id, { amount: amountText(cost.amount), currency: cost.currency })
      }
      return { ...document, cost: isSandbox ? freeOfCharge(cost) : describeCost(cost) }
    },
  }
}

/** A cost as documents have it. */
export function describeCost(cost: Cost): CostEstimate {
  return cost.amount === null
    ? { amount: null, currency: null, estimate: true, reason: cost.reason }
    : { amount: amountNumber(cost.amount), currency: cost.currency, estimate: true, reason: null }
}

function freeOfCharge(cost: Cost): CostEstimate {
  const free = 'the sandbox costs nothing'
  if (cost.amount === null) return { amount: 0, currency: null, estimate: true, reason: free }
  const reason = `${free}; by your prices it would be about ${shownAmount(cost.amount)} ${cost.currency}`
  return { amount: 0, currency: cost.currency, estimate: true, reason }
}
