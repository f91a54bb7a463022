import { basename } from 'node:path'
import type { Context } from '../../context.ts'
import { amountNumber, amountOf } from '../../cost/amount.ts'
import { countStates } from '../../events/run-document.ts'
import { outputVersion } from '../../events/output-schema.ts'
import type { AssetReport, ReportAsset } from '../../events/asset-report.ts'
import type { History } from '../journal/history.ts'
import type { Manifest } from '../manifest/manifest.ts'
import type { Assessment } from '../plan/assessment.ts'
import type { Results } from '../store/results.ts'
import { describeAsset } from './report-asset.ts'
import { createReportFiles, type FindBytes } from './report-files.ts'
import { toneOf, type Tone } from './state-words.ts'

/** All that is known of a manifest's assets. */
export interface ReportSources {
  readonly manifest: Manifest
  /** In the order of the manifest. */
  readonly assessments: readonly Assessment[]
  /** How many results are to be created. */
  readonly creates: number
  readonly past: Pick<History, 'results' | 'failures' | 'costs'>
  readonly results: Pick<Results, 'get'>
  readonly find: FindBytes
  /** Of the user's prices. */
  readonly currency: string | null
  /** Milliseconds since 1970. */
  readonly now: number
  /** The words of a command for the same manifest: `next('pick', 'hero', '2')`. */
  next(...words: string[]): readonly string[]
}

/**
 * Describes every asset for people who look at them: what failed first, then what awaits a decision, then what is to be
 * brought up to date; otherwise in the order of the manifest. Reads nothing but files that are not as locked.
 * @throws ModelgateError if such a file cannot be read
 */
export async function buildReport(
  context: Pick<Context, 'cwd' | 'clock' | 'signal'>,
  sources: ReportSources,
): Promise<AssetReport> {
  const { manifest, assessments, past, results, find, next } = sources
  const { project } = manifest
  const files = createReportFiles(context, project, find)
  const earlier = earlierOutputs(past)
  const assets: ReportAsset[] = []
  for (const assessment of assessments) {
    assets.push(await describeAsset({ past, earlier, results, files, next }, assessment))
  }
  return {
    version: outputVersion,
    name: basename(project.folder),
    manifest: basename(project.manifestPath),
    time: new Date(sources.now).toISOString(),
    sandbox: project.isSandbox,
    sums: sumsOf(assets, sources),
    assets: assets.toSorted((one, other) => ranks[toneOf(one)] - ranks[toneOf(other)]),
  }
}

/**
 * Keys of results that were outputs at some time, by their instances, the newest first; none of an instance that has had
 * candidates.
 */
function earlierOutputs({ results }: ReportSources['past']): ReadonlyMap<string, readonly string[]> {
  const kept = [...results.values()].filter(({ rejected }) => rejected === null)
  const withCandidates = new Set(kept.filter(({ variant }) => variant > 1).map(({ instance }) => instance))
  const outputs = kept.filter(({ instance }) => !withCandidates.has(instance))
  const byInstance = Map.groupBy(outputs.reverse(), ({ instance }) => instance)
  return new Map([...byInstance].map(([id, found]) => [id, found.map(({ key }) => key)]))
}

const ranks: Readonly<Record<Tone, number>> = { failed: 0, decision: 1, work: 2, done: 3 }

function sumsOf(assets: readonly ReportAsset[], { creates, currency }: ReportSources): AssetReport['sums'] {
  // The picked candidate stands for the output, too: each request counts once.
  const results = assets.flatMap((asset) => [
    ...(asset.picked !== null && asset.candidates.some(({ state }) => state === 'picked') ? [] : [asset]),
    ...asset.candidates,
  ])
  const costs = results.flatMap(({ cost }) => cost ?? [])
  const cost = costs.reduce((sum, cost) => sum + amountOf(cost), 0n)
  return {
    assets: assets.length,
    states: countStates(assets),
    creates,
    bytes: assets.flatMap(({ files }) => files).reduce((sum, { bytes }) => sum + bytes, 0),
    took_s: results.reduce((sum, { took_s }) => sum + (took_s ?? 0), 0),
    cost: costs.length === 0 ? null : amountNumber(cost),
    currency,
  }
}
