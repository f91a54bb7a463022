import { executeTask } from '../execute/execute-task.ts'
import type { ExecuteCall } from '../execute/task-run.ts'
import type { Executor } from './run-call.ts'

/** Makes the attempts of a run in this process. */
export function localExecutor(): Executor {
  let execute: ExecuteCall | undefined
  let inFlight = 0
  return {
    queue: null,
    get origin() {
      return execute!.gateway.baseUrl.origin
    },
    async open({ call, stop, project, options: { timeoutS } }) {
      const shared = await call.connect()
      execute = {
        ...shared,
        gateway: { ...shared.gateway, signal: stop.signal },
        context: { ...call.context, signal: stop.signal },
        project: project.manifest.project,
        redactor: call.redactor,
        rescueFolder: call.rescueFolder,
        timeoutMs: timeoutS === undefined ? undefined : timeoutS * 1000,
      }
    },
    async attempt(task) {
      inFlight++
      try {
        return await executeTask(execute!, task)
      } finally {
        inFlight--
      }
    },
    // What is under way goes on.
    stop: async () => inFlight,
    forget() {},
    async close() {},
    stopText(count, graceS) {
      const subject = count === 1 ? 'One request is' : `${count} requests are`
      return `Stopping: ${subject} under way and may continue for ${graceS} s. Another Ctrl-C ends the run at once.`
    },
  }
}
