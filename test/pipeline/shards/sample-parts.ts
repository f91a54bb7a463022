import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Lock, LockBlock, Result } from '../../../src/pipeline/lock/lock-block.ts'
import { projectOf, type Project } from '../../../src/pipeline/project.ts'
import { readPart, writePart, type Part, type PartContent } from '../../../src/pipeline/shards/part-folder.ts'
import type { PartInstance } from '../../../src/pipeline/shards/part-report.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'

export const sha256Of = (text: string) => createHash('sha256').update(text).digest('hex')

/** The block of an instance whose one output holds `content`. */
export function block(path: string, content: string, more: Partial<LockBlock> = {}): LockBlock {
  const output = {
    path,
    sha256: sha256Of(content),
    bytes: content.length,
    media_type: 'image/png',
    width: null,
    height: null,
    seconds: null,
    credentials: false,
  }
  return {
    key: sha256Of(`key of ${content}`),
    outputs: [output],
    fields: {},
    model: null,
    origin: null,
    request_id: null,
    job_id: null,
    usage: null,
    took_s: null,
    picked: null,
    adopted: null,
    prompt: null,
    ...more,
  }
}

export const manifestDigest = sha256Of('the manifest')

export interface SamplePart {
  readonly index: number
  readonly total: number
  readonly instances: readonly PartInstance[]
  /** The blocks that it has changed. */
  readonly lock?: Lock
  /** The lock that it began with. */
  readonly began?: Lock
  /** The names under which it has left no block. */
  readonly removed?: readonly string[]
  readonly report?: Partial<PartContent>
  readonly journal?: string
  /** What candidates hold, each of one file, by their keys. */
  readonly candidates?: Readonly<Record<string, string>>
  /** What the outputs of the lock hold. */
  readonly contents?: readonly string[]
}

function resultOf(content: string): Result {
  const { outputs, model, origin, request_id, job_id, usage, took_s } = block('teaser.mp4', content)
  return { outputs, model, origin, request_id, job_id, usage, took_s }
}

/** A project of its own in which a shard has left its part. */
export async function leavePart(
  sample: SamplePart,
  root = temporaryFolder(),
): Promise<{ project: Project; folder: string }> {
  const project = projectOf(join(root, 'modelgate.yaml'), false)
  const { index, total, instances, contents = [], candidates = {}, journal } = sample
  writeFiles(root, {
    ...Object.fromEntries(contents.map((content) => [`store/${sha256Of(content)}`, content])),
    ...Object.fromEntries(Object.entries(candidates).map(([key, content]) => [`candidates/${key}`, content])),
    ...(journal === undefined ? {} : { 'run.jsonl': journal }),
  })
  const stored = new Set(contents.map(sha256Of))
  const store = {
    open: (sha256: string) => Promise.resolve(stored.has(sha256) ? join(root, 'store', sha256) : undefined),
  }
  const before = sample.began ?? new Map()
  const after = new Map([...before, ...(sample.lock ?? [])])
  for (const id of sample.removed ?? []) after.delete(id)
  const folder = await writePart(testContext(), project, store, {
    manifest: manifestDigest,
    shard: { index, total },
    jobs: [],
    exit: 'ok',
    instances: [...instances],
    locks: { before, after },
    journal: journal === undefined ? null : join(root, 'run.jsonl'),
    candidates: Object.entries(candidates).map(([key, content]) => ({
      instance: 'teaser',
      key,
      variant: 1,
      state: 'candidate',
      reasons: [],
      result: resultOf(content),
      files: [join(root, 'candidates', key)],
    })),
    ...sample.report,
  })
  return { project, folder }
}

/** A part as it is read from its folder; messages name it `1-of-2`. */
export async function part(sample: SamplePart): Promise<Part> {
  const { folder } = await leavePart(sample)
  return { ...(await readPart(testContext(), folder)), folder: `${sample.index}-of-${sample.total}` }
}
