import { escapeAround } from './escapes.ts'

export const hiddenMark = '[hidden]'

/** The text with a mark in place of each span. @param spans start and end in turn, ascending, without overlap */
export function hideSpans(text: string, spans: readonly number[]): string {
  let clean = ''
  let copied = 0
  for (let at = 0; at < spans.length; at += 2) {
    clean += text.slice(copied, spans[at]) + hiddenMark
    copied = spans[at + 1]!
  }
  return clean + text.slice(copied)
}

/** The same for JSON, which stays valid: no escape is cut in two, and a number gives way to another. */
export function hideJsonSpans(json: string, spans: readonly number[]): string {
  let clean = ''
  let copied = 0
  for (let at = 0; at < spans.length; at += 2) {
    const start = Math.max(copied, escapeAround(json, spans[at]!)?.start ?? spans[at]!)
    const end = Math.max(copied, escapeAround(json, spans[at + 1]!)?.end ?? spans[at + 1]!)
    const number = numberAround(json, start, end)
    clean += json.slice(copied, number?.start ?? start) + (number === undefined ? hiddenMark : '0')
    copied = number?.end ?? end
  }
  return clean + json.slice(copied)
}

/** The number that a span of digits belongs to, as far as its neighbours tell that it is one. */
function numberAround(json: string, start: number, end: number): { start: number; end: number } | undefined {
  if (!/^\d+$/.test(json.slice(start, end))) return undefined
  let [first, last] = [start, end]
  while (first > 0 && /[\d.eE+-]/.test(json[first - 1]!)) first--
  while (last < json.length && /[\d.eE+-]/.test(json[last]!)) last++
  const isNumber = /[:[,\s]/.test(json[first - 1] ?? ' ') && /[\]},\s]/.test(json[last] ?? ' ')
  return isNumber ? { start: first, end: last } : undefined
}
