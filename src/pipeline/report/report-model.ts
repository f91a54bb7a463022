import { stat } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import type { Context } from '../../context.ts'
import { creatingCommands } from '../../contract/commands.ts'
import { amountNumber, amountOf } from '../../cost/amount.ts'
import type { AssetReport, ReportAsset, ReportCandidate, ReportFile } from '../../events/asset-report.ts'
import { outputVersion } from '../../events/output-schema.ts'
import { countStates } from '../../events/run-document.ts'
import { inspectAnyFile } from '../../files/inspect-file.ts'
import { factsOf } from '../execute/result-facts.ts'
import type { History } from '../journal/history.ts'
import type { OutputFacts, Provenance } from '../lock/lock-block.ts'
import {
  referencesOf,
  type FieldValue,
  type InputFile,
  type Instance,
  type Manifest,
} from '../manifest/manifest.ts'
import type { Assessment, State } from '../plan/world.ts'
import type { Project } from '../project.ts'
import type { Results } from '../store/results.ts'
import { toneOf, type Tone } from './report-words.ts'

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

export interface AssetSources {
  readonly past: Pick<History, 'results' | 'failures' | 'costs'>
  /** Keys of results that were outputs at some time, the newest first, by their instances. */
  readonly earlier: ReadonlyMap<string, readonly string[]>
  readonly results: Pick<Results, 'get'>
  readonly files: ReportFiles
  /** The words of a call of `modelgate run` for this manifest. */
  next(...words: string[]): readonly string[]
}

/** Describes one asset, and finds the bytes of its files. */
async function describeAsset(sources: AssetSources, assessment: Assessment): Promise<ReportAsset> {
  const { past } = sources
  const { instance, block, restore, state, key, keys } = assessment
  const result = block ?? restore?.result ?? null
  const [now, before] = await filesOf(sources, assessment)
  const failure = keys.flatMap((key) => past.failures.get(key) ?? [])[0]
  const prompt = promptField(instance)
  return {
    id: instance.id,
    job: instance.job,
    command: instance.command,
    kind: instance.lane,
    state,
    reasons: assessment.reasons,
    next: nextWords(sources, instance.id, state),
    prompt: prompt?.text ?? null,
    prompt_file: prompt?.path ?? null,
    fields: describedFields(instance, prompt?.name),
    alt: instance.alt,
    output: instance.output,
    files: now,
    before,
    candidates: await candidatesOf(sources, assessment),
    picked: block?.picked ?? restore?.picked ?? null,
    adopted: block?.adopted ?? null,
    failure:
      failure === undefined || state === 'fresh'
        ? null
        : {
            code: failure.code,
            exit_code: failure.exit_code,
            message: failure.message,
            billed: failure.billed,
          },
    ...provenanceOf(result, block?.key ?? key, past),
    model: result?.model ?? instance.model,
  }
}

/** The output as it is, and what was there before. */
async function filesOf(sources: AssetSources, assessment: Assessment): Promise<[ReportFile[], ReportFile[]]> {
  const { files, earlier, results } = sources
  const { instance, block, restore, state } = assessment
  if (state === 'in_the_way') return [await files.found([instance.output]), []]
  const outputs = block?.outputs ?? restore?.result.outputs ?? []
  const key = block?.key ?? assessment.key ?? ''
  if (state === 'changed') {
    const found = await files.found(outputs.map((output) => output.path))
    return [found, (await files.stored(key, outputs)) ?? []]
  }
  const moves = new Map(assessment.moves.map(({ from, to }) => [to, from]))
  const now = await files.locked(key, outputs, moves)
  if (now.length === 0) return [now, []]
  const digests = new Set(outputs.map((output) => output.sha256))
  for (const key of earlier.get(instance.id) ?? []) {
    const found = await results.get(key)
    if (found === undefined || found.result.outputs.some((output) => digests.has(output.sha256))) continue
    return [now, files.at(found.result.outputs, found.files)]
  }
  return [now, []]
}

/** What there is to choose from, and what was rejected: also the only result of an instance without variants. */
async function candidatesOf(sources: AssetSources, assessment: Assessment): Promise<ReportCandidate[]> {
  const { past, results, files, next } = sources
  const { instance, block, state, keys } = assessment
  if (instance.variants === 1 && state !== 'rejected') return []
  const described: ReportCandidate[] = []
  for (const [index, key] of keys.entries()) {
    const found = await results.get(key)
    if (found === undefined) continue
    const number = index + 1
    const reasons = past.results.get(key)?.rejected ?? []
    const isPicked = block?.key === key && state !== 'awaiting'
    const isAwaiting = reasons.length === 0 && !isPicked
    described.push({
      number,
      state: isPicked ? 'picked' : isAwaiting ? 'awaiting' : 'rejected',
      reasons,
      files: files.at(found.result.outputs, found.files),
      pick: isAwaiting && instance.pick === null ? next('pick', instance.id, String(number)) : null,
      ...provenanceOf(found.result, key, past),
    })
  }
  return described
}

function provenanceOf(result: Provenance | null, key: string | null, past: AssetSources['past']) {
  return {
    model: result?.model ?? null,
    origin: result?.origin ?? null,
    request_id: result?.request_id ?? null,
    job_id: result?.job_id ?? null,
    took_s: result?.took_s ?? null,
    cost: result === null || key === null ? null : (past.costs.get(key) ?? null),
  }
}

/** The command that leads on from a state; null where nothing is to be done, or a person has to choose first. */
function nextWords({ next }: AssetSources, id: string, state: State): readonly string[] | null {
  switch (state) {
    case 'fresh':
    case 'awaiting':
    case 'blocked':
      return null
    case 'changed':
    case 'in_the_way':
    case 'adopted':
      return next('adopt', id)
    case 'lost':
    case 'unknown':
    case 'rejected':
      return next('--regenerate', id)
    case 'restorable':
    case 'unfetched':
    case 'stale':
    case 'new':
    case 'pending':
      return next(id)
  }
}

/** The field that says what is wanted. */
function promptField({
  command,
  fields,
}: Instance): { name: string; text: string; path: string | null } | undefined {
  const { name } = creatingCommands[command].prompt
  const value = fields[name]
  if (value === undefined) return undefined
  return value.kind === 'text'
    ? { name, text: value.text, path: value.path }
    : { name, text: valueText(value), path: null }
}

function describedFields({ fields }: Instance, promptName: string | undefined): ReportAsset['fields'] {
  return Object.entries(fields)
    .filter(([name]) => name !== promptName && name !== 'model')
    .map(([name, value]) => ({ name, text: valueText(value), assets: assetsOf(value) }))
}

function valueText(value: FieldValue): string {
  switch (value.kind) {
    case 'text':
      return value.text
    case 'text of':
      return value.reference.text
    case 'files':
      return value.files.map(fileText).join(', ')
    case 'value':
      return typeof value.value === 'string' ? value.value : JSON.stringify(value.value)
  }
}

function fileText({ source, role }: InputFile): string {
  const text = 'path' in source ? source.path : source.reference.text
  return role === null ? text : `${role}=${text}`
}

/** The other assets of the manifest that a field refers to. */
function assetsOf(value: FieldValue): string[] {
  return referencesOf(value).map(({ instance }) => instance)
}

/** Finds the bytes of files that a report shows. */
export interface ReportFiles {
  /** Where the locked outputs of a key lie: in their place, else where their bytes are kept. */
  locked(
    key: string,
    outputs: readonly OutputFacts[],
    moves: ReadonlyMap<string, string>,
  ): Promise<ReportFile[]>
  /** Where the bytes are kept, all or nothing. */
  stored(key: string, outputs: readonly OutputFacts[]): Promise<ReportFile[] | undefined>
  /** What lies at these paths, whatever it is. */
  found(paths: readonly string[]): Promise<ReportFile[]>
  /** @param paths absolute, in the order of the outputs; null for what is gone */
  at(outputs: readonly OutputFacts[], paths: readonly (string | null)[]): ReportFile[]
}

/** Finds the bytes of outputs of a key; undefined unless all are there. */
export type FindBytes = (
  key: string,
  outputs: readonly OutputFacts[],
) => Promise<readonly string[] | undefined>

function createReportFiles(
  context: Pick<Context, 'cwd' | 'clock' | 'signal'>,
  project: Project,
  find: FindBytes,
): ReportFiles {
  const inProject = (path: string) => relative(project.folder, path).replaceAll(sep, '/')
  const inPlace = (path: string) => join(project.outputFolder, path)

  async function whereLocked(key: string, output: OutputFacts, path: string): Promise<string | null> {
    if (await isFile(inPlace(path))) return inPlace(path)
    return (await find(key, [output]))?.[0] ?? null
  }

  function described(output: OutputFacts, stored: string | null): ReportFile {
    const { path, bytes, sha256, media_type, width, height, seconds, credentials } = output
    const place = stored === null ? null : inProject(stored)
    return { path, stored: place, bytes, sha256, media_type, width, height, seconds, credentials }
  }

  return {
    async locked(key, outputs, moves) {
      const files: ReportFile[] = []
      for (const output of outputs) {
        const path = moves.get(output.path) ?? output.path
        files.push(described(output, await whereLocked(key, output, path)))
      }
      return files
    },

    async stored(key, outputs) {
      const paths = await find(key, outputs)
      return paths && outputs.map((output, at) => described(output, paths[at]!))
    },

    async found(paths) {
      const files: ReportFile[] = []
      for (const path of paths) {
        const place = inPlace(path)
        if (!(await isFile(place))) continue
        files.push(described(factsOf(await inspectAnyFile(context, place), path), place))
      }
      return files
    },

    at: (outputs, paths) => outputs.map((output, index) => described(output, paths[index] ?? null)),
  }
}

async function isFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found?.isFile() ?? false
}
