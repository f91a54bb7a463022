import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { unknownProvenance, type Lock, type LockBlock } from '../../../src/pipeline/lock/lock-block.ts'
import { projectOf, type Project } from '../../../src/pipeline/project.ts'
import {
  projectOfShard,
  readPart,
  writePart,
  type Part,
  type PartInstance,
  type PartReport,
} from '../../../src/pipeline/shards/part.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { factsOf } from '../plan/sample-world.ts'
import { digestOf } from '../store/store-samples.ts'

/** The block of an instance whose one output holds `content`. */
export function block(path: string, content: string, more: Partial<LockBlock> = {}): LockBlock {
  return {
    ...unknownProvenance,
    key: digestOf(`key of ${content}`),
    outputs: [factsOf(path, content)],
    fields: {},
    picked: null,
    adopted: null,
    prompt: null,
    ...more,
  }
}

export const manifestDigest = digestOf('the manifest')

export interface SamplePart {
  readonly index: number
  readonly total: number
  readonly instances: readonly PartInstance[]
  /** The blocks that it has changed. */
  readonly lock?: Lock
  /** The lock that it began with. */
  readonly began?: Lock
  readonly report?: Partial<PartReport>
}

/** A project of its own in which a shard has left its part. @returns of the shard */
export async function leavePart(sample: SamplePart): Promise<Project> {
  const { index, total, instances, lock = new Map(), began = new Map() } = sample
  const shard = { index, total }
  const whole = projectOf(join(temporaryFolder(), 'modelgate.yaml'), false)
  const project = projectOfShard(whole, shard)
  mkdirSync(project.stateFolder, { recursive: true })
  const report = { manifest: manifestDigest, shard, jobs: [], instances: [...instances], ...sample.report }
  await writePart(project, report, { before: began, changed: lock })
  return project
}

/** A part as it is read from its folder; messages name it `1-of-2`. */
export async function part(sample: SamplePart): Promise<Part> {
  const project = await leavePart(sample)
  const read = await readPart('/', project.stateFolder, project)
  return { ...read, folder: `${sample.index}-of-${sample.total}` }
}
