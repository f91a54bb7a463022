import type { TaskRequest } from '../manifest/request-body.ts'
import type { Creation } from '../../cost/creation.ts'
import type { MadeImages } from '../../files/calls/job-record.ts'
import type { Instance } from '../manifest/manifest.ts'

export interface Task {
  /** Of its fields only whether there is a `schema` counts here. */
  readonly instance: Pick<Instance, 'id' | 'command' | 'lane' | 'model' | 'count' | 'fields'>
  readonly key: string
  readonly variant: number
  readonly idempotencyKey: string
  /** What it is expected to create, for its price. */
  readonly creation: Creation
  /** Builds what is sent. @throws UsageError, FileError with everything that is wrong with its files */
  request(): Promise<TaskRequest>
  /** An empty folder of its own for what it makes. */
  readonly folder: string
  /** The remote job of an earlier attempt: it is waited for, and nothing is sent. */
  readonly job: { readonly id: string; readonly kind: 'video' | 'operation' } | null
  /** The results of an earlier attempt that are at addresses: they are fetched, and nothing is sent. */
  readonly made: MadeImages | null
  /** Called with the addresses of results before they are fetched; it goes on when they are on disk. */
  onMade(made: MadeImages): Promise<void>
  /** Called when the id of a remote job is known; it goes on when that is on disk. */
  onJob(id: string, kind: 'video' | 'operation'): Promise<void>
  onProgress(progress: TaskProgress): void
}

export interface TaskProgress {
  readonly state: string
  /** 0 to 100. */
  readonly percent: number | null
}
