import { amountOf, shownAmount } from '../../cost/amount.ts'
import type { AssetReport, ReportAsset, ReportFile } from '../../events/asset-report.ts'
import { byteText, counted, roundedDuration } from '../../quantities.ts'
import type { State } from '../plan/project-state.ts'

/** `1536 × 1024 · 8 s · 182 kB`. */
export function fileFacts(file: Pick<ReportFile, 'width' | 'height' | 'seconds' | 'bytes'>): string {
  const { width, height, seconds, bytes } = file
  const size = width === null || height === null ? null : `${width} × ${height}`
  return factLine([size, tookText(seconds), byteText(bytes)])
}

export function factLine(facts: readonly (string | null)[]): string {
  return facts.filter((fact) => fact !== null).join(' · ')
}

/** `EUR 0.12`; the number alone without a currency. */
export function costText(cost: number | null, currency: string | null): string | null {
  if (cost === null) return null
  return `${currency === null ? '' : `${currency} `}${shownAmount(amountOf(cost))}`
}

/** `12.4 s`, `3 min`. */
export function tookText(seconds: number | null): string | null {
  if (seconds === null) return null
  return seconds < 90 ? `${Number(seconds.toFixed(1))} s` : roundedDuration(seconds)
}

/** `2026-11-22 12:30 UTC`, the same on every machine. */
export function timeText(time: string): string {
  return `${time.slice(0, 16).replace('T', ' ')} UTC`
}

/** @param costOf writes an estimate, in which the currency is the user's own word */
export function sumFacts({ sums }: AssetReport, costOf = (text: string) => text): string {
  const { assets, bytes, cost, currency, took_s, creates } = sums
  return factLine([
    counted(assets, 'asset'),
    bytes === 0 ? null : byteText(bytes),
    took_s === 0 ? null : `${roundedDuration(took_s)} of generation`,
    cost === null ? null : costOf(`${costText(cost, currency)} estimated`),
    creates === 0 ? null : `${creates} to be created`,
  ])
}

/** @param nameOf writes the commit, whose name is the user's own word @returns null without one to compare with */
export function sinceFacts({ since }: AssetReport, nameOf = (text: string) => text): string | null {
  if (since === null) return null
  const { name, commit, changed, added, removed, unchanged } = since
  const counts = { changed, added, removed: removed.length, unchanged }
  const parts = Object.entries(counts).map(([word, count]) => `${count} ${word}`)
  return `${parts.join(', ')} since ${nameOf(`${name} (${commit.slice(0, 12)})`)}`
}

/**
 * What a state asks of the reader: `failed` to look at what went wrong, `decision` to choose, `work` nothing but a run,
 * `done` nothing.
 */
export type Tone = 'failed' | 'decision' | 'work' | 'done'

const sections = [
  { tone: 'failed', title: 'Needs attention' },
  { tone: 'decision', title: 'Awaits a decision' },
  { tone: 'work', title: 'To be brought up to date' },
  { tone: 'done', title: 'Up to date' },
] as const

export function sectionsOf(all: readonly ReportAsset[]) {
  return sections
    .map(({ tone, title }) => ({ tone, title, assets: all.filter((asset) => wordsFor(asset).tone === tone) }))
    .filter(({ assets }) => assets.length > 0)
}

/** An asset whose last request failed is one to look at, whatever its state. */
export function wordsFor({ state, failure }: ReportAsset): StateWords {
  return failure === null ? stateWords[state] : { ...stateWords[state], tone: 'failed', label: 'failed' }
}

/** The meaning is for one who does not know the state. */
type StateWords = { readonly tone: Tone; readonly label: string; readonly meaning: string }

export const stateWords: Readonly<Record<State, StateWords>> = {
  unknown: { tone: 'failed', label: 'unknown', meaning: 'A request was sent, and its outcome was lost.' },
  rejected: { tone: 'failed', label: 'rejected', meaning: 'The result failed its assert.' },
  lost: { tone: 'failed', label: 'lost', meaning: 'The locked file is gone, and no copy is in the store.' },
  changed: { tone: 'failed', label: 'changed by hand', meaning: 'The file differs from the lock.' },
  in_the_way: { tone: 'failed', label: 'in the way', meaning: 'Another file is where the output belongs.' },
  adopted: {
    tone: 'decision',
    label: 'adopted',
    meaning: 'Adopted by a person; the request has changed since.',
  },
  unfetched: {
    tone: 'work',
    label: 'not fetched',
    meaning: 'It is made and billed; a run fetches it, free.',
  },
  awaiting: { tone: 'decision', label: 'awaiting', meaning: 'There are candidates, and none is picked.' },
  stale: { tone: 'work', label: 'stale', meaning: 'The request has changed since the output was made.' },
  new: { tone: 'work', label: 'new', meaning: 'There is no output yet.' },
  restorable: { tone: 'work', label: 'restorable', meaning: 'The file is gone; a copy is in the store.' },
  blocked: { tone: 'work', label: 'blocked', meaning: 'It waits for another asset.' },
  pending: { tone: 'work', label: 'pending', meaning: 'Another asset is made first.' },
  fresh: { tone: 'done', label: 'fresh', meaning: 'The file matches the lock.' },
}

/**
 * Characters that are not shown, or that change how others are: C0 except tab and line feed, DEL, C1, separators of lines
 * and paragraphs, bidirectional controls, tag characters.
 */
const unseen =
  /\r\n|[\0-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu

/** Writes marks in place of characters that act without being seen: `␛`, `\u{202e}`. Half characters become `�`. */
export function visible(text: string): string {
  return text.toWellFormed().replace(unseen, (character) => {
    if (character === '\r\n') return '\n'
    const code = character.codePointAt(0)!
    if (code < 0x20) return String.fromCodePoint(0x2400 + code)
    return code === 0x7f ? '␡' : `\\u{${code.toString(16)}}`
  })
}
