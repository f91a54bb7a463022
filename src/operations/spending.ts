import { amountText } from '../cost/amount.ts'
import type { Creation } from '../cost/creation.ts'
import type { KnownCost } from '../cost/estimate.ts'
import type { Prices } from '../cost/prices.ts'
import { billedByFacts, ModelgateError } from '../errors.ts'
import type { OutputDocument } from '../events/documents.ts'
import type { CallBook, Count } from '../files/calls/call-book.ts'
import type { CallStart } from '../files/calls/call-record.ts'
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

/** Counts what one command creates, keeps it within its limits, and knows what it costs. */
export class Spending {
  /** The call that the requests are of; undefined for those of a run, which keeps records of its own. */
  call: CallStart | undefined
  readonly #parts: SpendingParts
  readonly #own: NonNullable<SpendingParts['own']>
  readonly #isPriced: boolean
  readonly #ids: string[] = []
  /** The last request that was admitted, and the id of its record if it has one. */
  #last: { creation: Creation; known: KnownCost | undefined; id: string | undefined } | undefined

  constructor(parts: SpendingParts) {
    this.#parts = parts
    this.#own = parts.own ?? { created: 0 }
    this.#isPriced = Object.keys(parts.prices).length > 0
  }

  /** The ids of the requests since the last time, for the record of how the call ended. */
  takeIds(): readonly string[] {
    return this.#ids.splice(0)
  }

  /** For `Gateway.admit`. @throws ModelgateError when a limit is reached, or cannot be checked */
  async admit(creation: Creation): Promise<(error: unknown) => void> {
    const { book, prices, isSandbox, limits, warn } = this.#parts
    this.#last = undefined
    // What most calls do not need is loaded by those that have limits or prices.
    const checks = limits && (await import('./spending-limits.ts'))
    checks?.checkOwn(limits!, this.#own.created, creation)
    // At once, so that no other request gets past the limit meanwhile.
    this.#own.created += creation.count
    try {
      let known: KnownCost | undefined
      if (this.#isPriced) {
        const cost = (await import('../cost/estimate.ts')).costBefore(prices, creation)
        if (cost.amount !== null) known = cost
      }
      if (limits?.cost !== undefined && !isSandbox) checks!.checkPrice(creation, known, warn)
      const id = isSandbox ? undefined : await this.#begin(creation, known, checks)
      if (id !== undefined && this.call !== undefined) this.#ids.push(id)
      this.#last = { creation, known, id }
      return (error) => {
        // Only what certainly was not accepted.
        if (!(error instanceof ModelgateError) || billedByFacts(error) !== 'no') return
        this.#own.created -= creation.count
        this.#last = undefined
        if (id !== undefined) book.correct(id, givenBack(creation, known))
      }
    } catch (error) {
      this.#own.created -= creation.count
      throw error
    }
  }

  /** @returns the id of the record; undefined where there is none, and none is needed */
  async #begin(creation: Creation, known: KnownCost | undefined, checks?: typeof LimitChecks) {
    const { book, limits, warn } = this.#parts
    const { model, of, count } = creation
    const cost = { amount: textOf(known), currency: known?.currency ?? null }
    const start = { count, ...cost, of, ...this.call, ...(model === null ? {} : { model }) }
    const limited = limits?.all === undefined && limits?.cost === undefined ? undefined : limits
    let id: string | undefined
    try {
      const folder = await book.open()
      const admitAll = limited && (this.#own.admitAll ??= checks!.createdSince(folder, limited, warn))
      // Nothing else of this process may come between the line and the look at what stands before it.
      id = book.begin(start)
      admitAll?.(id, creation, known)
      return id
    } catch (error) {
      // A full disk must not stop those who have set no limit.
      if (limited === undefined) return undefined
      if (id !== undefined) book.correct(id, givenBack(creation, known))
      throw checks!.cannotCount(error)
    }
  }

  /** The document of an operation that has ended, with the cost of what it created. */
  async withCost<Document extends OutputDocument>(document: Document): Promise<Document> {
    const { book, prices, isSandbox } = this.#parts
    if (!this.#isPriced || !('cost' in document)) return document
    const { costOfDocument, describeCost, freeOfCharge } = await import('./document-cost.ts')
    const last = this.#last
    const cost = costOfDocument(prices, document, last?.creation)
    if (cost === undefined) return document
    if (cost.amount !== null && !isSandbox) {
      const job = 'id' in document ? document.id : null
      const { amount, currency } = { amount: amountText(cost.amount), currency: cost.currency }
      // A background answer may have been asked for by another command.
      const counted =
        last === undefined && job !== null
          ? await this.#costOfJob(job)
          : last?.id && { id: last.id, amount: textOf(last.known) }
      if (counted && counted.amount !== amount) {
        book.correct(counted.id, { count: 0, amount, was: counted.amount, currency })
      }
    }
    return { ...document, cost: isSandbox ? freeOfCharge(cost) : describeCost(cost) }
  }

  /** What a job was estimated to cost when it was asked for, and the call that did so. Best effort: never throws. */
  async #costOfJob(job: string) {
    try {
      const { CallReader } = await import('../files/calls/read-calls.ts')
      return new CallReader(await this.#parts.book.open()).costOfJob(job)
    } catch {
      return undefined
    }
  }
}

function textOf(known: KnownCost | undefined): string | null {
  return known === undefined ? null : amountText(known.amount)
}

function givenBack({ count }: Creation, known: KnownCost | undefined): Count {
  return { count: -count, was: textOf(known), currency: known?.currency ?? null }
}
