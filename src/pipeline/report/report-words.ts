import { amountOf, shownAmount } from '../../cost/amount.ts'
import type { AssetReport, ReportAsset, ReportFile } from '../../events/asset-report.ts'
import { byteText, roundedDuration } from '../../quantities.ts'
import type { State } from '../plan/world.ts'

/** What a file is, in short: `1536 × 1024`, `8 s`, `182 kB`. */
export function fileFacts(file: Pick<ReportFile, 'width' | 'height' | 'seconds' | 'bytes'>): string[] {
  const { width, height, seconds, bytes } = file
  return [
    ...(width === null || height === null ? [] : [`${width} × ${height}`]),
    ...(seconds === null ? [] : [tookText(seconds)]),
    byteText(bytes),
  ]
}

/** `EUR 0.12`; the number alone without a currency. */
export function costText(cost: number, currency: string | null): string {
  return `${currency === null ? '' : `${currency} `}${shownAmount(amountOf(cost))}`
}

/** `12.4 s`, `3 min`. */
export function tookText(seconds: number): string {
  return seconds < 90 ? `${Number(seconds.toFixed(1))} s` : roundedDuration(seconds)
}

/** `2026-11-22 12:30 UTC`, the same on every machine. */
export function timeText(time: string): string {
  return `${time.slice(0, 16).replace('T', ' ')} UTC`
}

/** What all assets come to, in short. */
export function sumFacts({ sums }: AssetReport): string[] {
  const { assets, bytes, cost, currency, took_s, creates } = sums
  return [
    counted(assets, 'asset'),
    ...(bytes === 0 ? [] : [byteText(bytes)]),
    ...(took_s === 0 ? [] : [`${roundedDuration(took_s)} of generation`]),
    ...(cost === null ? [] : [`${costText(cost, currency)} estimated`]),
    ...(creates === 0 ? [] : [`${creates} to be created`]),
  ]
}

/** `1 asset`, `12 assets`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** A failure outranks the state: `failed`. */
export function stateLabel(asset: ReportAsset): string {
  return asset.failure === null ? stateWords[asset.state].label : 'failed'
}

/** The parts of a report, in their order; only those that have assets. */
export function sectionsOf(
  assets: readonly ReportAsset[],
): { readonly title: string; readonly tone: Tone; readonly assets: readonly ReportAsset[] }[] {
  const byTone = Map.groupBy(assets, toneOf)
  return titles.flatMap(([tone, title]) => {
    const found = byTone.get(tone)
    return found === undefined ? [] : [{ title, tone, assets: found }]
  })
}

const titles: readonly (readonly [Tone, string])[] = [
  ['failed', 'Needs attention'],
  ['decision', 'Awaits a decision'],
  ['work', 'To be brought up to date'],
  ['done', 'Up to date'],
]

/**
 * What a state asks of the reader: `failed` to look at what went wrong, `decision` to choose, `work` nothing but a run,
 * `done` nothing.
 */
export type Tone = 'failed' | 'decision' | 'work' | 'done'

interface StateWords {
  readonly label: string
  readonly tone: Tone
  /** What it means, for a reader who does not know the word. */
  readonly meaning: string
}

/** In the order in which a report shows them. */
export const stateWords: Readonly<Record<State, StateWords>> = {
  unknown: { label: 'unknown', tone: 'failed', meaning: 'A request was sent, and its outcome was lost.' },
  rejected: { label: 'rejected', tone: 'failed', meaning: 'The result failed its assert.' },
  lost: { label: 'lost', tone: 'failed', meaning: 'The locked file is gone, and no copy is in the store.' },
  changed: {
    label: 'changed by hand',
    tone: 'failed',
    meaning: 'The file differs from the lock.',
  },
  in_the_way: {
    label: 'in the way',
    tone: 'failed',
    meaning: 'A file that is not in the lock is where the output belongs.',
  },
  adopted: {
    label: 'adopted',
    tone: 'decision',
    meaning: 'A person adopted the file, and the request has changed since.',
  },
  unfetched: {
    label: 'not fetched',
    tone: 'work',
    meaning: 'It is made and billed; a run fetches it, free, until its address expires.',
  },
  awaiting: { label: 'awaiting', tone: 'decision', meaning: 'There are candidates, and none is picked.' },
  stale: { label: 'stale', tone: 'work', meaning: 'The request has changed since the output was made.' },
  new: { label: 'new', tone: 'work', meaning: 'There is no output yet.' },
  restorable: { label: 'restorable', tone: 'work', meaning: 'The file is gone; a copy is in the store.' },
  blocked: { label: 'blocked', tone: 'work', meaning: 'It waits for another asset.' },
  pending: { label: 'pending', tone: 'work', meaning: 'Another asset is made first.' },
  fresh: { label: 'fresh', tone: 'done', meaning: 'The file matches the lock.' },
}

/** An asset whose last request failed is one to look at, whatever its state. */
export function toneOf(asset: { readonly state: State; readonly failure: object | null }): Tone {
  return asset.failure === null ? stateWords[asset.state].tone : 'failed'
}
