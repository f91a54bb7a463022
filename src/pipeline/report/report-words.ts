import { amountOf, shownAmount } from '../../cost/amount.ts'
import type { AssetReport, ReportAsset, ReportFile } from '../../events/asset-report.ts'
import { byteText, roundedDuration } from '../../quantities.ts'
import { stateWords, toneOf, type Tone } from './state-words.ts'

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
