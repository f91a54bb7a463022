import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { OutputEvent } from '../../../src/events/documents.ts'
import type { RunDocument } from '../../../src/events/run-document.ts'
import type { Prices } from '../../../src/cost/prices.ts'
import type { Outcome } from '../../../src/operations/operation.ts'
import { runManifest } from '../../../src/pipeline/run/run.ts'
import type { ManifestCall } from '../../../src/pipeline/run/project.ts'
import type { RunCall, RunOptions } from '../../../src/pipeline/run/run-state.ts'
import type { SandboxOptions } from '../../../src/sandbox/start-sandbox.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { taskBench } from '../../support/pipeline-task.ts'
import { writeFiles } from '../../support/temporary-folder.ts'

interface BenchOptions {
  /** Of the sandbox that is the gateway. */
  readonly sandbox?: Partial<SandboxOptions>
  /** The address at which the program finds it. */
  readonly through?: (url: string) => Promise<string>
  readonly idempotencyHonoured?: boolean
  readonly prices?: Prices
}

const plain: RunOptions = {
  jobs: [],
  mode: 'run',
  graceS: 5,
  shard: null,
  isAttended: true,
  confirm: () => Promise.resolve(true),
}

/** A manifest in a folder of its own, and a sandbox to run it on. */
export async function runBench(files: Readonly<Record<string, string>>, options: BenchOptions = {}) {
  const { through = async (url) => url, idempotencyHonoured = false, prices = {} } = options
  const sandbox = await runningSandbox(options.sandbox)
  const tasks = taskBench(await through(sandbox.url))
  const { folder } = tasks
  writeFiles(folder, files)
  const call: ManifestCall = {
    context: tasks.context,
    env: {},
    families: {},
    prices,
    profile: 'default',
    pollIntervalS: undefined,
    redactor: tasks.shared.redactor,
    file: undefined,
    isSandbox: false,
    next: (...words) => ['modelgate', 'run', ...words],
    rescueFolder: undefined,
    generating: [],
  }
  const run = async (words: Partial<RunOptions> = {}, changes: Partial<RunCall> = {}) => {
    const events: OutputEvent[] = []
    const runCall: RunCall = {
      ...call,
      listener: { event: (event) => void events.push(event), async flush() {} },
      idempotencyHonoured,
      queue: undefined,
      connect: () => Promise.resolve(tasks.shared),
      ...changes,
    }
    const account = accountOf(await runManifest(runCall, { ...plain, ...words }))
    return {
      events,
      ...account,
      /** By this run, as it counts. */
      made: account.document?.creates.made,
      /** By all runs, as the gateway counts. */
      created: sandbox.created(),
    }
  }
  const path = (name: string) => join(folder, name)
  return {
    sandbox,
    folder,
    /** What the commands below `run` get. */
    call,
    run,
    context: tasks.context,
    path,
    read: (name: string) => readFileSync(path(name), 'utf8'),
    write: (name: string, content: string) => writeFiles(folder, { [name]: content }),
    exists: (name: string) => existsSync(path(name)),
    list: (name: string) => (existsSync(path(name)) ? readdirSync(path(name)) : []),
    lock: () =>
      JSON.parse(readFileSync(path('modelgate.lock'), 'utf8')) as Record<
        string,
        { key: string; outputs: { sha256: string; path: string }[] }
      >,
  }
}

export type Bench = Awaited<ReturnType<typeof runBench>>

/** How a run ended, and each instance with its state and what was done: `hero: fresh (generated)`. */
export function accountOf(outcome: Outcome<RunDocument>) {
  const { document } = outcome
  const error = outcome.kind === 'failed' ? outcome.error : outcome.failure
  const told = (document?.instances ?? []).map(
    ({ instance, state, action }) => `${instance}: ${state}${action === null ? '' : ` (${action})`}`,
  )
  return { document, error, exit: error?.exit ?? 'ok', told }
}
