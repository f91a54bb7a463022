import { creatingCommands } from '../../contract/commands.ts'
import type { ReportAsset, ReportCandidate, ReportFile } from '../../events/asset-report.ts'
import type { History } from '../journal/history.ts'
import type { Provenance } from '../lock/lock-block.ts'
import { referencesOf, type FieldValue, type InputFile, type Instance } from '../manifest/manifest.ts'
import type { Assessment, State } from '../plan/assessment.ts'
import type { ReportFiles } from './report-files.ts'
import type { Results } from '../store/results.ts'

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
export async function describeAsset(sources: AssetSources, assessment: Assessment): Promise<ReportAsset> {
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
