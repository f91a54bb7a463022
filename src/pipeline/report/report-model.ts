import { stat } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Context } from '../../context.ts'
import { creatingCommands } from '../../contract/commands.ts'
import { amountNumber, amountOf } from '../../cost/amount.ts'
import type { AssetReport, ReportAsset, ReportCandidate, ReportFile } from '../../events/asset-report.ts'
import { outputVersion } from '../../events/version.ts'
import { countStates } from '../../events/run-document.ts'
import { inspectAnyFile } from '../../files/inspect-file.ts'
import { factsOf } from '../execute/task.ts'
import type { History } from '../journal/journal.ts'
import {
  provenanceOf,
  unknownProvenance,
  type LockBlock,
  type OutputFacts,
  type Provenance,
} from '../lock/lock-block.ts'
import { referencesOf, shownSource, sourcesOf, type FieldValue } from '../manifest/manifest.ts'
import type { Plan } from '../plan/plan-run.ts'
import { findResult } from '../plan/result-files.ts'
import type { Assessment, ProjectState } from '../plan/project-state.ts'
import { remedyFor } from '../run/describe.ts'
import type { ManifestCall } from '../run/project.ts'
import { sectionsOf } from './report-words.ts'
import { bytesThen, foundThen, type Since } from './since.ts'

export interface ReportSources extends Pick<ManifestCall, 'next'> {
  readonly context: Pick<Context, 'cwd' | 'clock' | 'signal'>
  readonly project: ProjectState
  readonly plan: Pick<Plan, 'assessments' | 'creates'>
  readonly shown: ReadonlySet<string>
  readonly currency: string | null
  /** The lock to compare with; null for the outputs that the journals have of earlier. */
  readonly since: Since | null
}

/**
 * Describes every asset for people who look at them, by what it asks of them, then in the order of the manifest. Reads
 * nothing but files that are not as locked, and what is compared with.
 * @throws ModelgateError if such a file cannot be read
 */
export async function buildReport(sources: ReportSources): Promise<AssetReport> {
  const { project, plan, shown, since } = sources
  const { project: places, jobs } = project.manifest
  const earlier = earlierOutputs(project.history)
  const assets: ReportAsset[] = []
  const counts = { changed: 0, added: 0, unchanged: 0 }
  // In the order of the manifest, not in that of their references.
  for (const id of jobs.flatMap(({ instances }) => instances)) {
    if (!shown.has(id)) continue
    const assessment = plan.assessments.get(id)!
    const change = since && changeOf(since, assessment)
    if (change !== null) counts[change]++
    // There is nothing to do but, perhaps, to put the locked file back.
    const isSettled = assessment.state === 'fresh' || assessment.state === 'restorable'
    if (change === 'unchanged' && isSettled) continue
    assets.push(await describeAsset(sources, assessment, earlier.get(id) ?? []))
  }
  return {
    version: outputVersion,
    command: 'run report --format json',
    name: basename(places.folder),
    manifest: basename(places.manifestPath),
    time: new Date(project.now).toISOString(),
    sandbox: places.isSandbox,
    since: since && {
      name: since.name,
      commit: since.commit,
      ...counts,
      removed: await removedSince(since, sources),
    },
    sums: sumsOf(assets, sources),
    assets: sectionsOf(assets).flatMap((section) => section.assets),
  }
}

/** Keys of former outputs, by their instances, the newest first; none of an instance that has had candidates. */
function earlierOutputs({ results }: History): ReadonlyMap<string, readonly string[]> {
  const kept = [...results.values()].filter(({ rejected }) => rejected === null)
  const withCandidates = new Set(kept.filter(({ variant }) => variant > 1).map(({ instance }) => instance))
  const outputs = kept.filter(({ instance }) => !withCandidates.has(instance))
  const byInstance = Map.groupBy(outputs.reverse(), ({ instance }) => instance)
  return new Map([...byInstance].map(([id, found]) => [id, found.map(({ key }) => key)]))
}

function sumsOf(assets: readonly ReportAsset[], { plan, currency }: ReportSources): AssetReport['sums'] {
  // The picked candidate stands for the output, too: each request counts once.
  const results = assets.flatMap((asset) => [
    ...(asset.picked !== null && asset.candidates.some(({ state }) => state === 'picked') ? [] : [asset]),
    ...asset.candidates,
  ])
  const costs = results.flatMap(({ cost }) => cost ?? [])
  return {
    assets: assets.length,
    states: countStates(assets),
    creates: plan.creates,
    bytes: assets.flatMap(({ files }) => files).reduce((sum, { bytes }) => sum + bytes, 0),
    took_s: results.reduce((sum, { took_s }) => sum + (took_s ?? 0), 0),
    cost: costs.length === 0 ? null : amountNumber(costs.reduce((sum, cost) => sum + amountOf(cost), 0n)),
    currency,
  }
}

function changeOf(since: Since, assessment: Assessment): 'changed' | 'added' | 'unchanged' {
  const then = foundThen(since, assessment)?.block
  const outputs = outputsOf(assessment)
  if (then === undefined) return outputs.length === 0 ? 'unchanged' : 'added'
  const isSame = (assessment.block?.key ?? assessment.key) === then.key && hasOutputs(then, outputs)
  return isSame ? 'unchanged' : 'changed'
}

function hasOutputs(block: LockBlock, outputs: readonly OutputFacts[]): boolean {
  const placesOf = (some: readonly OutputFacts[]) => some.map(({ path, sha256 }) => [path, sha256])
  return isDeepStrictEqual(placesOf(block.outputs), placesOf(outputs))
}

/** What was locked at that time of assets that there are no more; nothing of a part of the manifest. */
async function removedSince(since: Since, { project, plan, shown }: ReportSources) {
  const { instances } = project.manifest
  if (shown.size < instances.size) return []
  const taken = new Set([...plan.assessments.values()].map((found) => foundThen(since, found)?.id))
  const removed: { id: string; files: ReportFile[] }[] = []
  for (const [id, block] of since.project.lock) {
    if (!instances.has(id) && !taken.has(id)) removed.push({ id, files: await filesThen(since, block) })
  }
  return removed
}

async function filesThen(since: Since, { key, outputs }: LockBlock): Promise<ReportFile[]> {
  const files = await Promise.all(outputs.map((facts) => bytesThen(since, key, facts)))
  return reportFiles(since.project, outputs, files)
}

/** @param earlier keys of its former outputs, the newest first */
async function describeAsset(
  sources: ReportSources,
  assessment: Assessment,
  earlier: readonly string[],
): Promise<ReportAsset> {
  const { project, next } = sources
  const { history } = project
  const { instance, block, restore, state, key, keys } = assessment
  const result = block ?? restore?.result ?? null
  const files = await filesNow(sources, assessment)
  const failures = state === 'fresh' ? [] : keys.flatMap((one) => history.failures.get(one) ?? [])
  const [failure] = failures.map(({ code, exit_code, message, billed }) => ({
    code,
    exit_code,
    message,
    billed,
  }))
  const { name: promptName } = creatingCommands[instance.command].prompt
  const prompt = instance.fields[promptName]
  const [promptSource] = sourcesOf(prompt)
  const remedy = remedyFor(state, instance.id)
  return {
    id: instance.id,
    job: instance.job,
    command: instance.command,
    kind: instance.lane,
    state,
    reasons: assessment.reasons,
    next: remedy === undefined ? null : next(...remedy),
    prompt: prompt === undefined ? null : valueText(prompt),
    prompt_file: promptSource !== undefined && 'path' in promptSource ? promptSource.path : null,
    fields: Object.entries(instance.fields)
      .filter(([name]) => name !== promptName && name !== 'model')
      .map(([name, value]) => ({
        name,
        text: valueText(value),
        assets: referencesOf(value).map((one) => one.instance),
      })),
    alt: instance.alt,
    output: instance.output,
    files,
    before: await filesBefore(sources, assessment, files, earlier),
    candidates: await candidatesOf(sources, assessment),
    picked: block?.picked ?? restore?.picked ?? null,
    adopted: block?.adopted ?? null,
    failure: failure ?? null,
    ...describeProvenance(result, block?.key ?? key, history),
    model: result?.model ?? instance.model,
  }
}

async function filesNow({ context, project }: ReportSources, assessment: Assessment): Promise<ReportFile[]> {
  const { outputFolder } = project.manifest.project
  const { instance, block, state, key, moves } = assessment
  const outputs = outputsOf(assessment)
  if (state === 'in_the_way' || state === 'changed') {
    const files: ReportFile[] = []
    for (const path of state === 'changed' ? outputs.map((facts) => facts.path) : [instance.output]) {
      const place = join(outputFolder, path)
      if (!(await isFile(place))) continue
      files.push(...reportFiles(project, [factsOf(await inspectAnyFile(context, place), path)], [place]))
    }
    return files
  }
  const files = outputs.map(async (facts) => {
    const from = moves.find(({ to }) => to === facts.path)?.from ?? facts.path
    const place = join(outputFolder, from)
    if (await isFile(place)) return place
    return (await findResult(block?.key ?? key ?? '', { outputs: [facts] }, project))?.[0]
  })
  return reportFiles(project, outputs, await Promise.all(files))
}

/**
 * What there is to compare with: of a file that was changed by hand what is locked, else the output of the other commit, or
 * the one before this one.
 */
async function filesBefore(
  { project, since }: ReportSources,
  assessment: Assessment,
  files: readonly ReportFile[],
  earlier: readonly string[],
): Promise<ReportFile[]> {
  const { block, state, key } = assessment
  const outputs = outputsOf(assessment)
  if (state === 'changed') {
    const paths = await findResult(block?.key ?? key ?? '', { outputs }, project)
    return paths === undefined ? [] : reportFiles(project, outputs, paths)
  }
  if (since !== null) {
    const then = foundThen(since, assessment)?.block
    return then === undefined || hasOutputs(then, outputs) ? [] : await filesThen(since, then)
  }
  if (state === 'in_the_way' || files.length === 0) return []
  const digests = new Set(outputs.map(({ sha256 }) => sha256))
  for (const key of earlier) {
    const found = await project.results.get(key)
    if (found === undefined || found.result.outputs.some(({ sha256 }) => digests.has(sha256))) continue
    return reportFiles(project, found.result.outputs, found.files)
  }
  return []
}

function outputsOf({ block, restore }: Assessment): readonly OutputFacts[] {
  return block?.outputs ?? restore?.result.outputs ?? []
}

/** What there is to choose from, and what was rejected: also the only result of an instance without variants. */
async function candidatesOf({ project, next }: ReportSources, assessment: Assessment) {
  const { instance, block, state, keys } = assessment
  if (instance.variants === 1 && state !== 'rejected') return []
  const described: ReportCandidate[] = []
  for (const [index, key] of keys.entries()) {
    const found = await project.results.get(key)
    if (found === undefined) continue
    const number = index + 1
    const reasons = project.history.results.get(key)?.rejected ?? []
    const isPicked = block?.key === key && state !== 'awaiting'
    const isAwaiting = reasons.length === 0 && !isPicked
    described.push({
      number,
      state: isPicked ? 'picked' : isAwaiting ? 'awaiting' : 'rejected',
      reasons,
      files: reportFiles(project, found.result.outputs, found.files),
      pick: isAwaiting && instance.pick === null ? next('pick', instance.id, String(number)) : null,
      ...describeProvenance(found.result, key, project.history),
    })
  }
  return described
}

function describeProvenance(result: Provenance | null, key: string | null, { costs }: History) {
  const { usage: _, ...provenance } = provenanceOf(result ?? unknownProvenance)
  return { ...provenance, cost: result === null || key === null ? null : (costs.get(key) ?? null) }
}

function valueText(value: FieldValue): string {
  if (value.kind === 'text') return value.text ?? shownSource(value.source!)
  if (value.kind === 'value')
    return typeof value.value === 'string' ? value.value : JSON.stringify(value.value)
  return value.files
    .map(({ source, role }) => `${role === null ? '' : `${role}=`}${shownSource(source)}`)
    .join(', ')
}

/** @param stored where the bytes of each lie, absolute; undefined for those that are gone */
function reportFiles(
  project: ProjectState,
  outputs: readonly OutputFacts[],
  stored: readonly (string | undefined)[],
): ReportFile[] {
  const { folder } = project.manifest.project
  return outputs.map((facts, at) => {
    const path = stored[at]
    return { ...facts, stored: path === undefined ? null : relative(folder, path).replaceAll(sep, '/') }
  })
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() ?? false
}
