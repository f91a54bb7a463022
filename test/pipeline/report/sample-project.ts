import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { ReportSources } from '../../../src/pipeline/report/report-model.ts'
import type { LockBlock, OutputFacts, Result } from '../../../src/pipeline/lock/lock-block.ts'
import type { FieldValue, Instance } from '../../../src/pipeline/manifest/manifest.ts'
import type { Assessment } from '../../../src/pipeline/plan/world.ts'
import type { StoredResult } from '../../../src/pipeline/store/results.ts'
import { projectOf } from '../../../src/pipeline/project.ts'
import { writeFiles } from '../../support/temporary-folder.ts'

/** A file that a sample has made. */
export interface SampleFile {
  readonly bytes: Uint8Array | string
  readonly mediaType: string
  readonly size?: readonly [width: number, height: number]
  readonly seconds?: number
}

/** An asset of a sample: what is told is other than usual. */
export interface SampleAsset {
  readonly id: string
  readonly state: Assessment['state']
  readonly instance?: Partial<Instance>
  readonly prompt?: string
  readonly fields?: Readonly<Record<string, FieldValue>>
  readonly reasons?: readonly string[]
  /** The locked output; its file is there, unless the state says otherwise. */
  readonly locked?: SampleFile
  /** What lies in its place instead. */
  readonly found?: SampleFile
  /** What was locked before. */
  readonly before?: SampleFile
  readonly candidates?: readonly (SampleFile & { readonly rejected?: readonly string[] })[]
  readonly picked?: number
  readonly failure?: { readonly code: string; readonly message: string; readonly exit_code: number }
  readonly result?: Partial<Result>
  readonly cost?: number
}

/** Writes the files of a project into a folder and says what a report is made of. */
export function sampleProject(folder: string, assets: readonly SampleAsset[]): ReportSources {
  const project = projectOf(join(folder, 'modelgate.yaml'), false)
  const blobs = new Map<string, string>()
  const past = { results: new Map(), failures: new Map(), costs: new Map<string, number>() }
  const candidates = new Map<string, StoredResult>()
  const assessments = assets.map((asset) => {
    const instance = instanceOf(asset)
    const result = asset.locked && resultOf(asset, asset.locked, instance.output)
    const key = digest(asset.id)
    if (asset.locked && result) {
      keep(asset.locked, result)
      const shown = asset.found ?? (['lost', 'restorable'].includes(asset.state) ? undefined : asset.locked)
      if (shown) writeFiles(folder, { [instance.output]: shown.bytes })
    } else if (asset.found) writeFiles(folder, { [instance.output]: asset.found.bytes })
    if (asset.before) {
      const before = resultOf(asset, asset.before, instance.output)
      keep(asset.before, before)
      const own = { instance: asset.id, key: `before ${key}`, variant: 1 }
      past.results.set(own.key, { ...own, rejected: null })
      const files = [blobs.get(before.outputs[0]!.sha256)!]
      candidates.set(own.key, { ...own, result: before, cost: null, warnings: [], files })
    }
    if (asset.cost !== undefined) past.costs.set(key, asset.cost)
    if (asset.failure) past.failures.set(key, { ...asset.failure, billed: 'no' })
    const keys = (asset.candidates ?? [asset]).map((_, index) => (index === 0 ? key : `${key}-${index + 1}`))
    for (const [index, candidate] of (asset.candidates ?? []).entries()) {
      const name = `.modelgate/results/${keys[index]}/1.bin`
      writeFiles(folder, { [name]: candidate.bytes })
      const made = resultOf(asset, candidate, '1.bin')
      const rejected = candidate.rejected ?? null
      candidates.set(keys[index]!, {
        instance: asset.id,
        key: keys[index]!,
        variant: index + 1,
        result: made,
        cost: null,
        warnings: [],
        files: [join(folder, name)],
      })
      past.results.set(keys[index]!, {
        instance: asset.id,
        key: keys[index]!,
        variant: index + 1,
        rejected,
      })
      if (asset.cost !== undefined) past.costs.set(keys[index]!, asset.cost)
    }
    const picked = asset.picked ?? null
    const block: LockBlock | null = result
      ? { ...result, key: keys[(picked ?? 1) - 1]!, fields: {}, picked, adopted: null, prompt: null }
      : null
    return {
      instance,
      state: asset.state,
      key,
      keys,
      fields: {},
      reasons: asset.reasons ?? [],
      toMake: [],
      block,
      lockedAs: block && asset.id,
      restore: null,
      moves: [],
    } satisfies Assessment
  })
  const manifest = {
    project,
    sha256: digest('manifest'),
    gateway: null,
    budget: { creates: null, cost: null },
    lanes: { text: 8, image: 4, video: 2 },
    locksPrompts: false,
    jobs: [],
    instances: new Map(assessments.map(({ instance }) => [instance.id, instance])),
    warnings: [],
  }
  return {
    manifest,
    assessments,
    creates: assets.filter(({ state }) => state === 'new' || state === 'stale').length,
    past,
    results: { get: async (key) => candidates.get(key) },
    async find(_, outputs) {
      const paths = outputs.flatMap(({ sha256 }) => blobs.get(sha256) ?? [])
      return paths.length === outputs.length ? paths : undefined
    },
    currency: 'EUR',
    now: Date.UTC(2026, 10, 22, 12, 30),
    next: (...words) => ['modelgate', 'run', ...words],
  }

  function keep(file: SampleFile, { outputs }: Result): void {
    const name = `.modelgate/replaced/${outputs[0]!.sha256}`
    writeFiles(folder, { [name]: file.bytes })
    blobs.set(outputs[0]!.sha256, join(folder, name))
  }
}

function instanceOf({ id, prompt, fields, instance }: SampleAsset): Instance {
  const [job = id] = id.split('[')
  return {
    id,
    job,
    command: 'image create',
    lane: 'image',
    model: 'gpt-image-2',
    fields: {
      ...(prompt === undefined ? {} : { prompt: { kind: 'text', text: prompt, path: null } }),
      ...fields,
    },
    references: [],
    output: `assets/${id.replaceAll(/[^a-z0-9-]/g, '-')}.webp`,
    count: 1,
    variants: 1,
    pick: null,
    alt: null,
    asserts: {},
    acceptsMismatch: false,
    isFrozen: false,
    onUnknown: 'stop',
    at: { file: 'modelgate.yaml', line: 1, column: 1 },
    ...instance,
  }
}

function resultOf(asset: SampleAsset, file: SampleFile, path: string): Result {
  const output: OutputFacts = {
    path,
    sha256: digest(file.bytes),
    bytes: Buffer.byteLength(file.bytes),
    media_type: file.mediaType,
    width: file.size?.[0] ?? null,
    height: file.size?.[1] ?? null,
    seconds: file.seconds ?? null,
    credentials: false,
  }
  return {
    outputs: [output],
    model: asset.instance?.model ?? 'gpt-image-2',
    origin: 'https://gateway.example',
    request_id: `req_${digest(asset.id).slice(0, 12)}`,
    job_id: null,
    usage: null,
    took_s: 12.4,
    ...asset.result,
  }
}

function digest(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}
