import { amountText } from '../cost/amount.ts'
import type { Creation } from '../cost/creation.ts'
import type { KnownCost } from '../cost/estimate.ts'
import type { Prices } from '../cost/prices.ts'
import { billedByFacts, ModelgateError } from '../errors.ts'
import type { OutputDocument } from '../events/documents.ts'
import type { CallBook } from '../files/calls/call-book.ts'
import type { CallEnd, CallStart, CallWords } from '../files/calls/call-record.ts'
import type * as LimitChecks from './spending-limits.ts'

interface SpendingParts {
  /** Several commands, or the requests of one, may share it. */
  readonly book: CallBook
  readonly prices: Prices
  /** The sandbox of `--sandbox` creates nothing that counts, and costs nothing. */
  readonly isSandbox: boolean
  readonly limits: LimitChecks.SpendingLimits | undefined
  /** What the command has created so far; several spendings of one command share it. */
  readonly own?: { created: number; admitAll?: ReturnType<typeof LimitChecks.createdSince> }
  warn(message: string): void
}

export type Spending = ReturnType<typeof createSpending>

/** Counts what one command creates, keeps it within its limits, and knows what it costs. */
export function createSpending(parts: SpendingParts) {
  const { book, prices, isSandbox, limits, own = { created: 0 }, warn } = parts
  const isPriced = Object.keys(prices).length > 0
  /** Of the requests of the call that has not ended. */
  const ids: string[] = []
  /** The last request that was admitted, and the id of its record if it has one. */
  let last: { creation: Creation; known: KnownCost | undefined; id: string | undefined } | undefined

  const spending = {
    /** The call that the requests are of; undefined for those of a run, which keeps records of its own. */
    call: undefined as CallStart | undefined,

    /** @throws FileError */
    endCall: (end: CallEnd, words?: CallWords) => book.end(ids.splice(0), end, words),

    /** For `Gateway.admit`. @throws ModelgateError when a limit is reached, or cannot be checked */
    async admit(creation: Creation): Promise<(error: unknown) => void> {
      const { model, of, count } = creation
      last = undefined
      // What most calls do not need is loaded by those that have limits or prices.
      const checks = limits && (await import('./spending-limits.ts'))
      checks?.checkOwn(limits!, own.created, creation)
      // At once, so that no other request gets past the limit meanwhile.
      own.created += count
      let known: KnownCost | undefined
      let id: string | undefined
      const giveBack = () => {
        own.created -= count
        if (id === undefined) return
        book.correct(id, { count: -count, was: textOf(known), currency: known?.currency ?? null })
      }
      try {
        if (isPriced) {
          const cost = (await import('../cost/estimate.ts')).costBefore(prices, creation)
          if (cost.amount !== null) known = cost
        }
        if (limits?.cost !== undefined && !isSandbox) checks!.checkPrice(creation, known, warn)
        const cost = { amount: textOf(known), currency: known?.currency ?? null }
        const start = { count, ...cost, of, ...spending.call, ...(model === null ? {} : { model }) }
        const limited = limits?.all === undefined && limits?.cost === undefined ? undefined : limits
        try {
          if (!isSandbox) {
            const folder = await book.open()
            const admitAll = limited && (own.admitAll ??= checks!.createdSince(folder, limited, warn))
            // Nothing else of this process may come between the line and the look at what stands before it.
            id = book.begin(start)
            admitAll?.(id, creation, known)
          }
        } catch (error) {
          // A full disk must not stop those who have set no limit.
          if (limited !== undefined) throw checks!.cannotCount(error)
        }
        if (id !== undefined && spending.call !== undefined) ids.push(id)
        last = { creation, known, id }
        return (error) => {
          // Only what certainly was not accepted.
          if (!(error instanceof ModelgateError) || billedByFacts(error) !== 'no') return
          last = undefined
          giveBack()
        }
      } catch (error) {
        giveBack()
        throw error
      }
    },

    /** The document of an operation that has ended, with the cost of what it created. */
    async withCost<Document extends OutputDocument>(document: Document): Promise<Document> {
      if (!isPriced || !('cost' in document)) return document
      const { costOfDocument, describeCost, freeOfCharge } = await import('./document-cost.ts')
      const cost = costOfDocument(prices, document, last?.creation)
      if (cost === undefined) return document
      if (cost.amount !== null && !isSandbox) {
        const job = 'id' in document ? document.id : null
        const { amount, currency } = { amount: amountText(cost.amount), currency: cost.currency }
        // A background answer may have been asked for by another command.
        const counted =
          last === undefined && job !== null
            ? await costOfJob(book, job)
            : last?.id && { id: last.id, amount: textOf(last.known) }
        if (counted && counted.amount !== amount) {
          book.correct(counted.id, { count: 0, amount, was: counted.amount, currency })
        }
      }
      return { ...document, cost: isSandbox ? freeOfCharge(cost) : describeCost(cost) }
    },
  }
  return spending
}

/** What a job was estimated to cost when it was asked for, and the call that did so. Best effort: never throws. */
async function costOfJob(book: CallBook, job: string) {
  try {
    const { CallReader } = await import('../files/calls/read-calls.ts')
    return new CallReader(await book.open()).costOfJob(job)
  } catch {
    return undefined
  }
}

function textOf(known: KnownCost | undefined): string | null {
  return known === undefined ? null : amountText(known.amount)
}
