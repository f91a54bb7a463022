import { join } from 'node:path'
import { asModelgateError, exitCodes, Interrupted, type ModelgateError } from '../../src/errors.ts'
import type { Instance } from '../../src/pipeline/manifest/manifest.ts'
import { resultFrom, type Outcome } from '../../src/pipeline/queue/task-state.ts'
import { createGate } from '../../src/output/gate.ts'
import { passing, recordingClock, type RunningProgram } from '../program/start-program.ts'
import { expectNoKey, expectNoKeyBelow } from '../support/canary-key.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { testContext } from '../support/test-context.ts'
import { until } from '../support/until.ts'
import { memoryWorkers } from '../pipeline/queue/memory-workers.ts'

interface WorkerStart {
  readonly home: string
  readonly cwd: string
  readonly url: string
  readonly key: string
}

/**
 * Runs a worker until the one task of a queue is over. It tells of the task as the program does of a call: by its exit code
 * and its message; what was made is fetched from the shared store into the working directory.
 */
export function startWorker(task: Instance, { home, cwd, url, key }: WorkerStart): RunningProgram {
  const clock = recordingClock(fakeClock())
  const context = testContext({ home, cwd, clock })
  const gate = createGate(context)
  gate.hide(key)
  const work = async () => {
    const bench = await memoryWorkers(clock)
    const id = await bench.submit(task)
    const worker = bench.work(url, {}, { gateway: { key, onRetry() {} }, redactor: gate })
    const { ended } = worker
    context.signal.addEventListener('abort', () => worker.abort(context.signal.reason))
    // With `--until-empty` it would ask all the time, and the clock hurry through its pauses while a connection is made.
    await Promise.race([ended, until(() => bench.isOver(id))])
    worker.abort(new Interrupted('terminate'))
    const reason = await ended
    expectNoKey('the queue', JSON.stringify([...bench.queue.jobs]), key)
    expectNoKeyBelow(bench.machine, key)
    const { outcome } = bench.stateOf(id)
    const warnings = outcome?.kind === 'result' ? outcome.warnings : []
    for (const warning of [...worker.warnings(), ...warnings]) context.stderr.write(`warning: ${warning}\n`)
    if (outcome?.kind === 'result') {
      await bench.store.fetch(outcome.result.outputs[0]!.sha256, join(cwd, task.output))
      return 0
    }
    const { exit, message } = errorOf(outcome) ?? asModelgateError(reason ?? new Error('It was lost.'), false)
    context.stderr.write(`modelgate: ${message}\n`)
    return exitCodes[exit].code
  }
  const exitCode = work()
  return { context, clock, home, exitCode, ...passing(clock, exitCode, () => context.stderr.text) }
}

/** The error that a task has ended with. */
export function errorOf(outcome: Outcome | null): ModelgateError | undefined {
  if (outcome === null) return undefined
  try {
    resultFrom(outcome)
    return undefined
  } catch (error) {
    return asModelgateError(error, false)
  }
}
