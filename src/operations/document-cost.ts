import { amountNumber, shownAmount } from '../cost/amount.ts'
import type { Creation } from '../cost/creation.ts'
import { costOf, type Cost } from '../cost/estimate.ts'
import type { Prices } from '../cost/prices.ts'
import type { OutputDocument } from '../events/documents.ts'
import type { ImageDocument } from '../events/image.ts'
import type { CostEstimate, TextDocument } from '../events/text.ts'
import type { VideoDocument } from '../events/video.ts'

/**
 * What the call of a document has cost.
 * @param creation what it asked to be created; undefined where that was nothing, or was not accepted
 * @returns undefined for a call that created nothing, and for an answer that is still being generated
 */
export function costOfDocument(prices: Prices, document: OutputDocument, creation: Creation | undefined) {
  if ('finish_reason' in document) return costOfText(prices, document, creation)
  if (creation === undefined) return undefined
  if ('links' in document) return costOf(prices, imagesUsed(document, creation))
  return 'operation' in document ? costOf(prices, videosUsed(document, creation)) : undefined
}

/** The tokens of an answer are known where it ends, which may be another command than the one that asked for it. */
function costOfText(prices: Prices, { model, usage, state }: TextDocument, creation: Creation | undefined) {
  const isRunning = state === 'queued' || state === 'in_progress'
  if (usage === null && (isRunning || creation === undefined)) return undefined
  return costOf(prices, { models: [creation?.model ?? null, model], tokens: usage })
}

function imagesUsed({ model, usage, files, links, failures }: ImageDocument, creation: Creation) {
  const made = files.filter(({ existing }) => !existing)
  // An image that could not be saved has been made, unless the gateway sent none.
  const lost = failures.filter(({ code }) => code !== 'nothing_generated')
  const came = made.length + links.length
  const [first] = made
  const size = first === undefined || first.width === null ? null : `${first.width}x${first.height}`
  const { variant } = creation
  return {
    models: [creation.model, model],
    tokens: usage,
    images: {
      // A reply that was passed on unchanged has no files, only failures.
      count: came === 0 ? creation.count : came + lost.length,
      size: variant?.size ?? size,
      quality: variant?.quality ?? null,
    },
  }
}

function videosUsed({ model, seconds, files }: VideoDocument, creation: Creation) {
  const { variant, count } = creation
  const each = creation.seconds ?? (seconds === null ? Number.NaN : Number(seconds))
  const saved = files.reduce((sum, file) => sum + (file.seconds ?? Number.NaN), 0)
  const all = each > 0 ? each * count : files.length > 0 && saved > 0 ? saved : null
  return {
    models: [creation.model, model],
    tokens: null,
    video: { size: variant?.size ?? null, quality: null, seconds: all },
  }
}

export function describeCost(cost: Cost): CostEstimate {
  return cost.amount === null
    ? { amount: null, currency: null, estimate: true, reason: cost.reason }
    : { amount: amountNumber(cost.amount), currency: cost.currency, estimate: true, reason: null }
}

export function freeOfCharge(cost: Cost): CostEstimate {
  const free = 'the sandbox costs nothing'
  if (cost.amount === null) return { amount: 0, currency: null, estimate: true, reason: free }
  const reason = `${free}; by your prices it would be about ${shownAmount(cost.amount)} ${cost.currency}`
  return { amount: 0, currency: cost.currency, estimate: true, reason }
}
