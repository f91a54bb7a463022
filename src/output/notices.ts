import type { Context } from '../context.ts'
import { lastSegment } from '../contract/videos.ts'
import { outputItemKinds } from '../contract/response-object.ts'

import { amountOf, shownAmount } from '../cost/amount.ts'
import { createGrowingText } from '../growing-text.ts'
import { billedOf, OutputClosed, saysNotCharged, type ModelgateError } from '../errors.ts'
import type { Citation, CostEstimate, Usage } from '../events/text.ts'
import type { OutputEvent, OutputDocument } from '../events/documents.ts'
import type { SavedVideo, VideoEvent } from '../events/video.ts'
import type { Screen } from './screen.ts'
import type { ProgressEvent } from './job-progress.ts'
import type { Gate } from './gate.ts'
import { imageLabel, previewLabel } from '../events/format-image.ts'
import type { ImageUsage, SavedImage } from '../events/image.ts'
import { isDeeperThan, maxJsonDepth } from '../json.ts'

export interface Notices {
  event(event: OutputEvent): void
  end(document: OutputDocument): void
  error(error: ModelgateError, partial?: OutputDocument): void
}

interface NoticeOptions {
  readonly quiet: boolean
  readonly usage: boolean
  readonly resume: ((id: string) => { toString(): string }) | undefined
  readonly answer: ((document: OutputDocument) => string | undefined) | undefined
  /** Omit what the document on standard output contains. */
  readonly warningsOnly: boolean
  readonly showProgress: (event: ProgressEvent) => void
  readonly annotate: Annotate | undefined
}

/** Large, because a message or a hint may contain a command to paste. */
const errorLimit = 4_000

export function createNotices(screen: Screen, options: NoticeOptions): Notices {
  let refusal = createGrowingText(errorLimit)
  const printRefusal = () => {
    if (refusal.length > 0 && !options.quiet && !options.warningsOnly) {
      screen.line(`refusal: ${refusal.toString()}`, 'warning', errorLimit)
    }
    refusal = createGrowingText(errorLimit)
  }
  const jobText = ({ id, kind }: Extract<VideoEvent, { type: 'job-create' }>) => {
    const noun = kind === 'response' ? 'response' : 'job'
    const command = options.resume?.(id)
    return command === undefined
      ? `${noun} ${id} started`
      : `${noun} started; resume with: ${command.toString()}`
  }
  return {
    event(event) {
      if (event.type === 'start') {
        const text = event.command === 'inspect' ? 'reading' : `waiting for ${event.model ?? 'the gateway'}`
        return screen.wait(text)
      }
      if (event.type === 'refusal-delta') return refusal.add(event.text)
      if (options.quiet) return
      if (event.type === 'job-create') return screen.line(jobText(event), 'plain', errorLimit)
      if (event.type === 'job-progress' || event.type === 'download-progress')
        return options.showProgress(event)
      const text = noticeOf(event)
      if (text === undefined) return
      if (!(event.type in warnings)) {
        if (!options.warningsOnly) screen.line(text, 'plain')
        return
      }
      screen.line(text, 'warning')
      // What holds when the command has ended, unlike a retry.
      const isLasting = event.type !== 'retry-wait' && event.type !== 'poll-fail'
      if (isLasting) options.annotate?.('warning', 'modelgate', [text.replace(/^warning: /, '')])
    },
    end(document) {
      printRefusal()
      const answer = options.quiet || options.warningsOnly ? undefined : options.answer?.(document)
      if (answer !== undefined) screen.line(`answer with: ${answer}`, 'plain', errorLimit)
      if (options.usage) screen.line(spentText(document), 'plain')
    },
    error(error, partial) {
      printRefusal()
      if (!(error instanceof OutputClosed)) {
        const problems = error.message.split('\n').filter((line) => line.trim() !== '')
        const notes = notesOf(error, partial)
        for (const problem of problems) screen.line(`modelgate: ${problem}`, 'error', errorLimit)
        for (const note of notes) screen.line(note, 'plain', errorLimit)
        const title = `modelgate: ${error.code} (exit ${error.exitCode})`
        options.annotate?.('error', title, [...problems, ...notes.map((note) => note.trim())])
      }
      if (options.usage && partial !== undefined && usageOf(partial) !== null) {
        screen.line(spentText(partial), 'plain')
      }
    },
  }
}

function saysKind({ kind, summary }: { readonly kind: string; readonly summary: string }): boolean {
  return summary.startsWith(Object.hasOwn(outputItemKinds, kind) ? outputItemKinds[kind]! : kind)
}

type Texts = {
  readonly [Type in OutputEvent['type']]?: (
    event: Extract<OutputEvent, { readonly type: Type }>,
  ) => string | undefined
}

/** What is reported even where a document on standard output has all else. */
const warnings: Texts = {
  'warning-add': ({ message }) => `warning: ${message}`,
  'retry-wait': retryText,
  'image-fail': ({ failure }) => `image ${failure.index} failed: ${failure.message}`,
  // The first and every fifth of consecutive failed look-ups.
  'poll-fail': (event) => (event.attempt === 1 || event.attempt % 5 === 0 ? lookUpText(event) : undefined),
  'video-fail': ({ failure }) => `video ${failure.index} failed: ${failure.message}`,
  'job-fail': ({ id, message }) => (message.includes(id) ? message : `job ${id}: ${message}`),
}

const notices: Texts = {
  'tool-call': ({ call }) => `tool call: ${call.name}(${shortJson(call.arguments)})`,
  'code-run': ({ language, code }) => `code (${language}): ${code}`,
  'code-result': ({ outcome, output }) => `code result (${outcome}): ${output}`,
  'citation-add': ({ citation }) => `citation: ${citationText(citation)}`,
  'item-add': (event) => (saysKind(event) ? event.summary : `${event.kind}: ${event.summary}`),
  'safety-report': ({ ratings }) => `safety: ${ratings.map(ratingText).join(', ')}`,
  'prompt-block': ({ reason, message }) =>
    `prompt blocked (${reason})${message === null ? '' : `: ${message}`}`,
  'file-save': ({ file }) => `saved ${file.path} (${file.bytes} bytes)`,
  'image-save': (event) =>
    `${imageLabel(event)}${event.file.existing ? ' exists' : ''}: ${savedText(event.file)}`,
  'image-partial': (event) =>
    `${imageLabel(event)}: ${previewLabel(event)}${event.file === null ? '' : ` in ${event.file.path}`}`,
  'image-link': ({ link }) =>
    `image ${link.index}: link expires at ${new Date(link.expires_at * 1000).toISOString()}`,
  'video-save': ({ index, file }) => `video ${index}: ${savedText(file)}`,
  'image-data': (event) => (event.partial ? undefined : `image (${event.mime_type})`),
}

/** Undefined for events that are shown elsewhere. */
export function noticeOf(event: OutputEvent): string | undefined {
  const textOf = warnings[event.type] ?? notices[event.type]
  return (textOf as ((event: OutputEvent) => string | undefined) | undefined)?.(event)
}

/** A video is not counted in tokens. */
function spentText(document: OutputDocument): string {
  const cost = 'cost' in document ? document.cost : null
  if ('operation' in document)
    return cost === null ? 'cost: unknown (no prices are configured)' : costText(cost)
  const usage = usageOf(document)
  const tokens = `tokens: ${(usage && tokenCounts(usage)) || 'not reported'}`
  return [tokens, ...(cost === null ? [] : [costText(cost)])].join(' · ')
}

function costText({ amount, currency, reason }: CostEstimate): string {
  if (amount === null) return `cost unknown (${reason})`
  return reason ?? `about ${shownAmount(amountOf(amount))} ${currency}`
}

/** `12 in (4 cached), 30 out, 42 total`. @param usage of a document or of the log */
export function tokenCounts(usage: Readonly<Record<string, unknown>>): string {
  return [
    ...count(
      usage['input_tokens'],
      'in',
      [usage['cached_tokens'], 'cached'],
      [usage['input_image_tokens'], 'image'],
      [usage['input_text_tokens'], 'text'],
    ),
    ...count(usage['output_tokens'], 'out', [usage['reasoning_tokens'], 'reasoning']),
    ...count(usage['total_tokens'], 'total'),
  ].join(', ')
}

function count(tokens: unknown, name: string, ...parts: (readonly [unknown, string])[]): string[] {
  const details = parts.flatMap(([part, partName]) =>
    typeof part === 'number' ? [`${part} ${partName}`] : [],
  )
  if (typeof tokens !== 'number') return details
  return [`${tokens} ${name}${details.length === 0 ? '' : ` (${details.join(', ')})`}`]
}

function retryText(event: Extract<OutputEvent, { type: 'retry-wait' }>): string {
  const { wait_s, attempts_left, reason } = event
  return `retry in ${oneDecimal(wait_s)} s (${attempts_left} left): ${reason}${statusText(event)}`
}

function citationText({ title, url, license }: Citation): string {
  const parts = [
    title,
    title === null || url === null ? url : `<${url}>`,
    license === null ? null : `(licence: ${license})`,
  ].filter((part) => part !== null)
  return parts.length === 0 ? 'no title or URL' : parts.join(' ')
}

function ratingText(rating: unknown): string {
  const { category, probability } = (rating ?? {}) as { category?: unknown; probability?: unknown }
  return typeof category === 'string' ? `${category} ${String(probability ?? '')}`.trim() : shortJson(rating)
}

function shortJson(value: unknown): string {
  if (typeof value === 'string') return value
  return isDeeperThan(value, maxJsonDepth) ? '…' : (JSON.stringify(value) ?? '')
}

function savedText({ width, height, format, bytes, ...file }: SavedImage | SavedVideo): string {
  const size = width === null || height === null ? '' : `${width}x${height} `
  const time = 'seconds' in file && file.seconds !== null ? `${oneDecimal(file.seconds)} s, ` : ''
  return `${size}${format}, ${time}${bytes} bytes`
}

function lookUpText(event: Extract<VideoEvent, { type: 'poll-fail' }>): string {
  const { attempt, wait_s } = event
  const times = attempt === 1 ? '' : ` ${attempt} times in a row`
  return `look-up failed${times}, next in ${oneDecimal(wait_s)} s: ${event.reason}${statusText(event)}`
}

function statusText({ http_status, reason }: { http_status: number | null; reason: string }): string {
  const code = `HTTP ${http_status}`
  return http_status === null || reason.includes(code) ? '' : ` (${code})`
}

function oneDecimal(value: number): number {
  return Math.round(value * 10) / 10
}

/** Hints, ids, and whether it costs. */
function notesOf(error: ModelgateError, partial: OutputDocument | undefined): string[] {
  const { hint, requestId, remoteId } = error.facts
  const billed = deniesCharge(partial) ? 'no' : billedOf(error)
  return [
    ...(hint === undefined ? [] : hint.split('\n').map((line) => `  hint: ${line}`)),
    ...(requestId === undefined ? [] : [`  request id: ${requestId}`]),
    ...(remoteId === undefined || names(error, remoteId) ? [] : [`  remote id: ${remoteId}`]),
    ...(billed === 'no' ? [] : [`  The request ${billed === 'yes' ? 'was' : 'may have been'} billed.`]),
  ]
}

/** In full or by the beginning of the id, as in a command. */
function names({ message, facts: { hint = '' } }: ModelgateError, id: string): boolean {
  const short = lastSegment(id).slice(0, shortestName)
  return message.includes(id) || (short.length === shortestName ? hint.includes(short) : hint.includes(id))
}

/** No command has a shorter beginning of an id. */
const shortestName = 12

function deniesCharge(document: OutputDocument | undefined): boolean {
  return document !== undefined && 'failures' in document && document.failures.some(saysNotCharged)
}

function usageOf(document: OutputDocument | undefined): Usage | ImageUsage | null {
  return document !== undefined && 'usage' in document ? document.usage : null
}

/** Shows an error or a warning on the page of a workflow run as well. */
export type Annotate = (level: 'error' | 'warning', title: string, lines: readonly string[]) => void

/** Undefined outside GitHub Actions, and where standard error is a terminal all the same. */
export function createAnnotate(
  { env, stderr }: Pick<Context, 'env' | 'stderr'>,
  gate: Pick<Gate, 'line'>,
  put: (line: string) => void,
): Annotate | undefined {
  if (env['GITHUB_ACTIONS'] !== 'true' || stderr.isTerminal) return undefined
  return (level, title, lines) => {
    const data = lines.map((line) => escapeData(gate.line(line, errorLimit))).join('%0A')
    put(`::${level} title=${escapeProperty(gate.line(title, errorLimit))}::${data}`)
  }
}

/** As the runner undoes it in what follows `::command::`. */
function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
