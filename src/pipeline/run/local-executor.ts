import { executeTask } from '../execute/execute-task.ts'
import type { ExecuteCall } from '../execute/task-run.ts'
import type { Task } from '../execute/task.ts'
import type { TaskResult } from '../store/results.ts'
import { openJobs } from '../../operations/jobs.ts'
import type { Executor, Run } from './run-call.ts'

/** Makes the attempts of a run in this process. */
export class LocalExecutor implements Executor {
  readonly queue = null
  #execute!: ExecuteCall
  #inFlight = 0

  get origin(): string {
    return this.#execute.gateway.baseUrl.origin
  }

  async open({ call, stop, project, options: { timeoutS } }: Run): Promise<void> {
    const shared = await call.connect()
    this.#execute = {
      ...shared,
      gateway: { ...shared.gateway, signal: stop.signal },
      context: { ...call.context, signal: stop.signal },
      project: project.manifest.project,
      redactor: call.redactor,
      jobs: openJobs(call.context, project.manifest.project.stateFolder, call.redactor),
      rescueFolder: call.rescueFolder,
      timeoutMs: timeoutS === undefined ? undefined : timeoutS * 1000,
    }
  }

  async attempt(task: Task): Promise<TaskResult> {
    this.#inFlight++
    return await executeTask(this.#execute, task).finally(() => this.#inFlight--)
  }

  /** What is under way goes on. */
  async stop(): Promise<number> {
    return this.#inFlight
  }

  forget(): void {}

  async close(): Promise<void> {}
}
