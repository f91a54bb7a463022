import { join } from 'node:path'
import { asModelgateError, exitCodes } from '../../src/errors.ts'
import type { Instance } from '../../src/pipeline/manifest/manifest.ts'
import type { TaskDocument } from '../../src/pipeline/queue/task-document.ts'
import { createGate } from '../../src/output/gate.ts'
import { workerBench } from '../pipeline/queue/worker/worker-bench.ts'
import { passing, recordingClock, type RunningProgram } from '../program/start-program.ts'
import { expectNoKey, expectNoKeyBelow } from '../support/canary-key.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { testContext } from '../support/test-context.ts'

interface WorkerStart {
  readonly home: string
  readonly cwd: string
  readonly url: string
  readonly key: string
}

/**
 * Runs a worker until a queue with one task is empty. It tells of the task as the program does of a call: by its exit code
 * and its message; what was made is fetched from the shared store into the working directory.
 */
export function startWorker(task: Instance, { home, cwd, url, key }: WorkerStart): RunningProgram {
  const clock = recordingClock(fakeClock())
  const context = testContext({ home, cwd, clock })
  const gate = createGate(context)
  gate.hide(key)
  const work = async () => {
    const bench = await workerBench({ clock, limits: { jobs: 1 } })
    const [name] = await bench.submit([task])
    const worker = bench.work(url, { untilEmpty: true }, { gateway: { key, onRetry() {} }, redactor: gate })
    const { ended } = worker
    context.signal.addEventListener('abort', () => worker.abort(context.signal.reason))
    const reason = await ended
    expectNoKey('the queue', JSON.stringify([...bench.documents.all]), key)
    expectNoKeyBelow(bench.machine, key)
    const { state, outcome }: TaskDocument = bench.task(name!)
    const warnings = outcome?.kind === 'result' ? outcome.warnings : []
    for (const warning of [...worker.warnings(), ...warnings]) context.stderr.write(`warning: ${warning}\n`)
    if (outcome?.kind === 'result') {
      await bench.store.fetch(outcome.result.outputs[0]!.sha256, join(cwd, task.output))
      return 0
    }
    const { exit, message } = outcome?.error ?? asModelgateError(reason ?? new Error(state), false)
    context.stderr.write(`modelgate: ${message}\n`)
    return exitCodes[exit].code
  }
  const exitCode = work()
  return { context, clock, home, exitCode, ...passing(clock, exitCode, () => context.stderr.text) }
}
