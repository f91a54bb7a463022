import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { systemClock, type Clock } from '../../../../src/context.ts'
import { Interrupted } from '../../../../src/errors.ts'
import type { OutputEvent } from '../../../../src/events/documents.ts'
import type { UpstreamResult } from '../../../../src/pipeline/execute/task.ts'
import type { Instance } from '../../../../src/pipeline/manifest/manifest.ts'
import { projectOf } from '../../../../src/pipeline/project.ts'
import type { DocumentStore } from '../../../../src/pipeline/queue/document-store.ts'
import { encodeTask } from '../../../../src/pipeline/queue/encode-task.ts'
import { openRun, submit, type Submission } from '../../../../src/pipeline/queue/submissions.ts'
import { isFinal, type TaskDocument } from '../../../../src/pipeline/queue/task-document.ts'
import { runWorker } from '../../../../src/pipeline/queue/worker/worker-loop.ts'
import type { WorkerCall, WorkerOptions } from '../../../../src/pipeline/queue/worker/worker-call.ts'
import { createInputDigests } from '../../../../src/pipeline/store/file-digest.ts'
import { openFolderStore } from '../../../../src/pipeline/store/folder-store.ts'
import { memoryDelivery } from '../../../support/memory-delivery.ts'
import { memoryDocuments } from '../../../support/memory-documents.ts'
import { taskBench } from '../../../support/pipeline-task.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { testContext } from '../../../support/test-context.ts'
import { until } from '../../../support/until.ts'

const run = '20261122T120000000-0000abcd'
type Faults = NonNullable<Parameters<typeof memoryDocuments>[0]['fault']>

/** Real time, but for waits, which take a hundredth of it, and steps forward. */
function hurriedClock() {
  let aheadMs = 0
  const clock: Clock = {
    ...systemClock,
    now: () => systemClock.now() + aheadMs,
    timer: (ms, callback, label) =>
      systemClock.timer(label !== 'sleep' ? ms : Math.min(ms, Math.max(5, ms / 100)), callback, label),
  }
  return { ...clock, step: (ms: number) => void (aheadMs += ms) }
}

export interface WorkerBenchOptions {
  readonly fault?: Faults
  readonly limits?: Partial<Parameters<typeof openRun>[2]>
  readonly clock?: Clock
  /** Where the folders of the run, the store and the machine are; anywhere unless told. */
  readonly below?: string
}

/** A queue in this process, with a store in a folder, for as many workers as a test starts. */
export async function workerBench({ fault, limits = {}, clock: given, below }: WorkerBenchOptions = {}) {
  const folderFor = (name: string) => {
    if (below === undefined) return temporaryFolder()
    mkdirSync(join(below, name))
    return join(below, name)
  }
  const hurried = hurriedClock()
  const clock = given ?? hurried
  const documents = memoryDocuments({ clock, ...(fault && { fault }) })
  const delivery = memoryDelivery(clock)
  const storeFolder = folderFor('store')
  const store = await openFolderStore(testContext({ cwd: storeFolder }), storeFolder)
  const folder = folderFor('project')
  const machine = folderFor('machine')
  const lanes = { text: 1000, image: 1000, video: 1000 }
  await openRun(
    documents,
    run,
    { lanes, creates: null, cost: null, jobs: 100, ...limits },
    { creates: 0, cost: '0' },
  )
  const inputDigest = createInputDigests(folder)
  let number = 0

  const submitAll = async (
    instances: readonly Instance[],
    {
      more = {},
      upstream = new Map(),
      priority = 1,
    }: {
      readonly more?: Partial<Submission>
      readonly upstream?: ReadonlyMap<string, UpstreamResult>
      readonly priority?: number
    } = {},
  ) => {
    const keys: string[] = []
    for (const instance of instances) {
      const key = (++number).toString(16).padStart(64, '0')
      keys.push(key)
      const { message, files } = await encodeTask({
        instance,
        upstream,
        inputDigest,
        project: projectOf(join(folder, 'modelgate.yaml'), false),
      })
      for (const { path, sha256 } of files) await store.put(path, sha256)
      const submission: Submission = {
        key,
        attempt: randomUUID().replaceAll('-', ''),
        instance: instance.id,
        lane: instance.lane,
        creates: instance.count,
        cost: null,
        onUnknown: instance.onUnknown,
        isFresh: false,
        isSentAgain: false,
        job: null,
        message,
        ...more,
      }
      const [submitted] = await submit(documents, run, [submission])
      if (submitted?.kind === 'waiting') {
        const { attempt } = submitted
        await delivery.sender.send(instance.lane, [{ key, attempt, priority }])
      }
    }
    return keys
  }

  const work = (url: string, options: Partial<WorkerOptions> = {}, changes: WorkerChanges = {}) => {
    const { shared } = taskBench(
      url,
      changes.maxCreates === undefined ? {} : { maxCreates: changes.maxCreates },
    )
    const own = changes.clock ?? clock
    const controller = new AbortController()
    const events: OutputEvent[] = []
    const party = delivery.party()
    const context = {
      ...testContext({ cwd: machine }),
      clock: own,
      signal: controller.signal,
      ...(changes.processes && { processes: changes.processes }),
    }
    // What is left of a test must not outlive it.
    onTestFinished(() => controller.abort(new Error('the test is over')))
    const call: WorkerCall = {
      context,
      documents: changes.documents ?? documents,
      sender: changes.sender ?? delivery.sender,
      receive: party.receive,
      store: changes.store ?? store,
      shared: {
        ...shared,
        rescueFolder: join(machine, 'rescued'),
        gateway: { ...shared.gateway, clock: own, ...changes.gateway },
      },
      redactor: changes.redactor ?? shared.redactor,
      isSandbox: false,
      folder: join(machine, 'workers'),
      options: {
        places: { text: 8, image: 4, video: 2 },
        rate: null,
        isSentAgain: false,
        graceS: 5,
        untilEmpty: false,
        ...options,
      },
      listener: { event: (event) => void events.push(event) },
    }
    const ended = runWorker(call)
    // Who waits for it sees it.
    ended.catch(() => {})
    return {
      ended,
      /** As at a SIGTERM. */
      async stop() {
        controller.abort(new Interrupted('terminate'))
        expect(await ended).toMatchObject({ exit: 'terminate' })
      },
      events,
      abort: (reason: Error) => controller.abort(reason),
      die: () => party.die(),
      warnings: () => events.flatMap((event) => (event.type === 'warning-add' ? [event.message] : [])),
      outcomes: () => events.flatMap((event) => (event.type === 'task-end' ? [event.outcome] : [])),
    }
  }

  const states = () =>
    [...documents.all].flatMap(([name, document]) =>
      name.startsWith('task:') ? [(document as unknown as TaskDocument).state] : [],
    )
  return {
    clock,
    /** Until all tasks have come to an end. */
    async final() {
      await until(() => states().every((state) => isFinal({ state })))
    },
    /** Time goes on for everybody. */
    step: hurried.step,
    documents,
    delivery,
    store,
    folder,
    machine,
    work,
    submit: submitAll,
    write: (name: string, content: string | Uint8Array) => {
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, name), content)
    },
    task: (key: string) => documents.all.get(`task:${key}`) as unknown as TaskDocument,
    states,
    record: () => documents.all.get(`run:${run}`) as Record<string, unknown>,
    /** What workers have left on the disk. */
    left: () => (existsSync(join(machine, 'workers')) ? readdirSync(join(machine, 'workers')) : []),
  }
}

interface WorkerChanges {
  readonly documents?: DocumentStore
  readonly sender?: WorkerCall['sender']
  readonly store?: WorkerCall['store']
  readonly gateway?: Partial<WorkerCall['shared']['gateway']>
  readonly maxCreates?: number
  readonly redactor?: WorkerCall['redactor']
  readonly processes?: WorkerCall['context']['processes']
  readonly clock?: Clock
}
