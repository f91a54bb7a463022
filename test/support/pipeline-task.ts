import { join } from 'node:path'
import { systemClock, type Clock } from '../../src/context.ts'
import type { Prices } from '../../src/cost/prices.ts'
import { JobStore } from '../../src/files/calls/job-store.ts'
import { CallBook } from '../../src/files/calls/call-book.ts'
import { createSpending } from '../../src/operations/spending.ts'
import type { ExecuteCall, Task } from '../../src/pipeline/execute/task.ts'
import type { FieldValue, Instance, InputFile, Reference } from '../../src/pipeline/manifest/manifest.ts'
import { buildRequest, creationOf, type UpstreamResult } from '../../src/pipeline/manifest/request-body.ts'
import { projectOf, type Project } from '../../src/pipeline/project.ts'
import { testGateway } from '../gateway/test-gateway.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { testContext } from './test-context.ts'

/** Real time, but for the waits between look-ups and attempts, which pass at once. */
const clock: Clock = {
  ...systemClock,
  timer: (ms, callback, label) => systemClock.timer(label === 'sleep' ? 0 : ms, callback),
}

/** An instance of one image; `fields` are plain values. */
export function instanceOf(overrides: Partial<Instance> & Pick<Instance, 'command'>): Instance {
  const { command } = overrides
  const lane = command.startsWith('image') ? 'image' : command.startsWith('video') ? 'video' : 'text'
  return {
    id: 'job',
    job: 'job',
    lane,
    model: `sandbox-${lane}`,
    fields: {},
    references: [],
    output: 'out.bin',
    count: 1,
    variants: 1,
    pick: null,
    alt: null,
    asserts: {},
    acceptsMismatch: false,
    isFrozen: false,
    isDistinct: false,
    onUnknown: 'stop',
    at: { file: 'modelgate.yaml', line: 1, column: 1 },
    ...overrides,
  }
}

export const valueField = (value: unknown): FieldValue => ({ kind: 'value', value })
export const textField = (text: string): FieldValue => ({ kind: 'text', text, source: null })
/** @param sources paths relative to the project's folder, and references such as `@job` */
export function filesField(...sources: readonly string[]): FieldValue {
  return { kind: 'files', files: sources.map((text): InputFile => ({ source: sourceOf(text), role: null })) }
}
export const textOfField = (text: string): FieldValue => ({
  kind: 'text',
  text: null,
  source: { reference: referenceTo(text) },
})

function referenceTo(text: string): Reference {
  const [instance = '', candidate] = text.slice(1).split('#')
  return { text, instance, candidate: Number(candidate ?? 0) || null }
}
const sourceOf = (text: string) => (text.startsWith('@') ? { reference: referenceTo(text) } : { path: text })

export interface TaskChanges extends Partial<Task> {
  readonly upstream?: ReadonlyMap<string, UpstreamResult>
}

/** A project in a folder of its own, and what runs its tasks on the gateway at this address. */
export function taskBench(
  url: string,
  { prices = {}, maxCreates }: { readonly prices?: Prices; readonly maxCreates?: number } = {},
) {
  const folder = temporaryFolder()
  const project: Project = projectOf(join(folder, 'modelgate.yaml'), false)
  const context = { ...testContext({ cwd: folder }), clock }
  const created: number[] = []
  const shared: ExecuteCall = {
    context,
    project,
    gateway: { ...testGateway(url), clock, signal: context.signal },
    redactor: { text: (text) => text, document: (json) => json },
    jobs: new JobStore(project.stateFolder, clock),
    newSpending() {
      const spending = createSpending({
        book: new CallBook(join(folder, 'state'), clock),
        prices,
        isSandbox: false,
        limits: maxCreates === undefined ? undefined : { all: maxCreates, since: 0, sinceText: 'ever' },
        warn() {},
      })
      return {
        withCost: (document) => spending.withCost(document),
        admit(creation) {
          created.push(creation.count)
          return spending.admit(creation)
        },
      }
    },
    prices,
    families: {},
    profile: 'default',
    pollIntervalS: undefined,
    timeoutMs: undefined,
    rescueFolder: join(folder, 'rescued'),
  }
  const jobs: string[] = []
  const taskOf = (instance: Instance, { upstream = new Map(), ...overrides }: TaskChanges = {}): Task => ({
    instance,
    key: 'k'.repeat(64),
    variant: 1,
    idempotencyKey: 'key-of-the-run',
    creation: creationOf(instance),
    request: () => buildRequest(context, instance, { folder, upstream }),
    folder: join(project.stateFolder, 'work', 'k'),
    job: null,
    made: null,
    async onMade() {},
    async onJob(id, kind) {
      jobs.push(`${kind} ${id}`)
    },
    onProgress() {},
    ...overrides,
  })
  return { folder, project, context, shared, taskOf, jobs, created }
}
