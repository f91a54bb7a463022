import { join } from 'node:path'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import type { Clock } from '../../../src/context.ts'
import type { Instance } from '../../../src/pipeline/manifest/manifest.ts'
import { buildRequest } from '../../../src/pipeline/manifest/request-body.ts'
import { encodeTask, type TaskMessage } from '../../../src/pipeline/queue/message.ts'
import { jobIdOf, type TaskState } from '../../../src/pipeline/queue/task-state.ts'
import type { WorkerOptions } from '../../../src/pipeline/queue/worker/worker-call.ts'
import { openFolderStore } from '../../../src/pipeline/store/shared-store.ts'
import { MemoryQueue } from './memory-queue.ts'
import { startTestWorker, type WorkerChanges } from './test-worker.ts'
import { taskBench } from '../../support/pipeline-task.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'

/**
 * A queue in this process, with a store in a folder, for as many workers as a test starts.
 * @param below where the folders of the run, the store and the machine are; anywhere unless told
 */
export async function memoryWorkers(clock: Clock, below = temporaryFolder()) {
  const folderFor = (name: string) => {
    mkdirSync(join(below, name), { recursive: true })
    return join(below, name)
  }
  const queue = new MemoryQueue(clock)
  const storeFolder = folderFor('store')
  const machine = folderFor('machine')
  const store = await openFolderStore(testContext({ cwd: storeFolder }), storeFolder)
  const project = folderFor('project')
  let number = 0
  return {
    queue,
    store,
    machine,
    /** Gives a task to the queue. @returns its id */
    async submit(instance: Instance, more: Partial<TaskState> = {}): Promise<string> {
      const key = (++number).toString(16).padStart(64, '0')
      const { taskOf, context } = taskBench('http://gateway')
      const inputs = { folder: project, upstream: new Map() }
      const request = () => buildRequest(context, instance, inputs)
      const task = taskOf(instance, { key, idempotencyKey: queue.newId(), request })
      const run = '20261122T120000000-0000abcd'
      const message = await encodeTask(task, { run, folder: project, store })
      const state: TaskState = {
        attempt: queue.newId(),
        failures: 0,
        job: null,
        made: null,
        outcome: null,
        ...more,
      }
      const id = jobIdOf(task.idempotencyKey)
      queue.add(instance.lane, id, { message: JSON.stringify(message), state: JSON.stringify(state) })
      return id
    },
    write: (name: string, content: string | Uint8Array) => writeFiles(project, { [name]: content }),
    /** What workers have left on the disk. */
    left: () => (existsSync(join(machine, 'workers')) ? readdirSync(join(machine, 'workers')) : []),
    /** Spoils a message. */
    change(id: string, change: (message: TaskMessage) => unknown) {
      const { data } = queue.jobs.get(id)!
      const message = JSON.stringify(change(JSON.parse(data.message) as TaskMessage))
      queue.jobs.get(id)!.data = { ...data, message }
    },
    stateOf: (id: string) => JSON.parse(queue.jobs.get(id)!.data.state) as TaskState,
    isOver: (id: string) => queue.jobs.get(id)!.finishedOn !== undefined,
    work: (url: string, options: Partial<WorkerOptions> = {}, changes: WorkerChanges = {}) =>
      startTestWorker({ url, clock, machine, store, options, open: async () => queue }, changes),
  }
}
