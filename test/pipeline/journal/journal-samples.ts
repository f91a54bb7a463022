import { join } from 'node:path'
import type { JournalEvent } from '../../../src/pipeline/journal/journal.ts'
import { provenanceOf, type Result } from '../../../src/pipeline/lock/lock-block.ts'
import { projectOf, type Project } from '../../../src/pipeline/project.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { sampleBlock } from '../lock/sample-block.ts'

/** A project in a folder of its own. */
export function sampleProject(manifest = 'modelgate.yaml', folder = temporaryFolder()): Project {
  return projectOf(join(folder, manifest), false)
}

type EventOf<Type> = Extract<JournalEvent, { readonly type: Type }>

export function intent(key: string, more: Partial<EventOf<'intent'>> = {}): JournalEvent {
  const fields = { instance: 'hero', key, variant: 1, creates: 1, cost: null, ...more }
  return { type: 'intent', idempotency_key: `idempotent-${key}`, ...fields }
}

const sampleResult: Result = { ...provenanceOf(sampleBlock), outputs: sampleBlock.outputs }

export function result(key: string, more: Partial<EventOf<'result'>> = {}): JournalEvent {
  return { type: 'result', instance: 'hero', key, variant: 1, result: sampleResult, rejected: null, ...more }
}

export function failure(key: string): JournalEvent {
  const fields = {
    instance: 'hero',
    exit_code: 9,
    code: 'blocked',
    message: 'Blocked: “nö”.',
    billed: 'no',
  } as const
  return { type: 'failure', key, ...fields }
}

export function remoteJob(key: string, id = `job-${key}`): JournalEvent {
  return { type: 'job', key, id, kind: 'video' }
}
