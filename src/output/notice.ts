import type { SavedImage } from '../contract/image-event.ts'
import type { Usage } from '../contract/text-event.ts'
import type { OutputEvent } from '../contract/output-event.ts'
import type { SavedVideo, VideoEvent } from '../contract/video-event.ts'
import { exceedsDepth } from './depth.ts'

/** One line about an event, for a person. Warnings stay where information is left out because a document has it. */
export interface Notice {
  readonly level: 'information' | 'warning'
  readonly text: string
}

/** What to say about an event on standard error; nothing about those that are shown otherwise. */
export function noticeOf(event: OutputEvent): Notice | undefined {
  switch (event.type) {
    case 'warning-add':
      return { level: 'warning', text: `warning: ${event.message}` }
    case 'retry-wait':
      return { level: 'warning', text: retryText(event) }
    case 'tool-call':
      return information(`tool call: ${event.call.name}(${shortJson(event.call.arguments)})`)
    case 'code-run':
      return information(`code (${event.language}): ${event.code}`)
    case 'code-result':
      return information(`code result (${event.outcome}): ${event.output}`)
    case 'citation-add':
      return information(`citation: ${citationText(event.citation)}`)
    case 'item-add':
      return information(`${event.kind}: ${event.summary}`)
    case 'safety-report':
      return information(`safety: ${event.ratings.map(ratingText).join(', ')}`)
    case 'prompt-block':
      return information(
        `prompt blocked (${event.reason})${event.message === null ? '' : `: ${event.message}`}`,
      )
    case 'file-save':
      return information(`saved ${event.file.path} (${event.file.bytes} bytes)`)
    case 'image-save':
      return information(savedText(event.index, event.file))
    case 'image-partial':
      return information(
        `image ${event.index}: preview ${event.partial}${event.file === null ? '' : ` in ${event.file.path}`}`,
      )
    case 'image-link':
      return information(
        `image ${event.link.index}: to be fetched until ${new Date(event.link.expires_at * 1000).toISOString()}`,
      )
    case 'image-fail':
      return { level: 'warning', text: `image ${event.failure.index} failed: ${event.failure.message}` }
    case 'poll-fail':
      return isTold(event.attempt) ? { level: 'warning', text: lookUpText(event) } : undefined
    case 'video-save':
      return information(savedVideoText(event.index, event.file))
    case 'video-fail':
      return { level: 'warning', text: `video ${event.failure.index} failed: ${event.failure.message}` }
    case 'image-data':
      return event.partial ? undefined : information(`image (${event.mime_type})`)
    default:
      return undefined
  }
}

/** One line of token counts for `--usage`. */
export function usageText(usage: Usage | null): string {
  if (usage === null) return 'tokens: not reported'
  const counts = [
    ...count(usage.input_tokens, 'in'),
    ...count(usage.cached_tokens, 'of them cached'),
    ...count(usage.output_tokens, 'out'),
    ...count(usage.reasoning_tokens, 'of them reasoning'),
    ...count(usage.total_tokens, 'in all'),
  ]
  return `tokens: ${counts.length === 0 ? 'not reported' : counts.join(', ')}`
}

function count(tokens: number | null, what: string): string[] {
  return tokens === null ? [] : [`${tokens} ${what}`]
}

function information(text: string): Notice {
  return { level: 'information', text }
}

function retryText(event: Extract<OutputEvent, { type: 'retry-wait' }>): string {
  const { wait_s, attempts_left, reason } = event
  return `retry in ${oneDecimal(wait_s)} s (${attempts_left} left): ${reason}${statusText(event)}`
}

function citationText({ title, url }: { title: string | null; url: string | null }): string {
  const parts = [title, title === null || url === null ? url : `<${url}>`].filter((part) => part !== null)
  return parts.length === 0 ? 'without title or address' : parts.join(' ')
}

/** Ratings come as the gateway sends them: usually a category and a probability. */
function ratingText(rating: unknown): string {
  const { category, probability } = (rating ?? {}) as { category?: unknown; probability?: unknown }
  return typeof category === 'string' ? `${category} ${String(probability ?? '')}`.trim() : shortJson(rating)
}

function shortJson(value: unknown): string {
  if (typeof value === 'string') return value
  return exceedsDepth(value) ? '…' : (JSON.stringify(value) ?? '')
}

function savedText(index: number, { width, height, format, bytes }: SavedImage): string {
  return `image ${index}: ${width === null ? '' : `${width}x${height} `}${format}, ${bytes} bytes`
}

function savedVideoText(index: number, { width, height, format, seconds, bytes }: SavedVideo): string {
  const size = width === null || height === null ? '' : `${width}x${height} `
  return `video ${index}: ${size}${format}, ${seconds === null ? '' : `${oneDecimal(seconds)} s, `}${bytes} bytes`
}

/** Of failed look-ups in a row, the first and every fifth. */
function isTold(attempt: number): boolean {
  return attempt === 1 || attempt % 5 === 0
}

function lookUpText(event: Extract<VideoEvent, { type: 'poll-fail' }>): string {
  const { attempt, wait_s } = event
  const times = attempt === 1 ? '' : ` ${attempt} times in a row`
  return `look-up failed${times}, next in ${oneDecimal(wait_s)} s: ${event.reason}${statusText(event)}`
}

/** The status of a reply, unless the reason names it. */
function statusText({ http_status, reason }: { http_status: number | null; reason: string }): string {
  const code = `HTTP ${http_status}`
  return http_status === null || reason.includes(code) ? '' : ` (${code})`
}

function oneDecimal(value: number): number {
  return Math.round(value * 10) / 10
}
