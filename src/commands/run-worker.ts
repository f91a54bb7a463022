import { join } from 'node:path'
import { Option, type Command } from 'commander'
import { rescueFolder, stateFolder } from '../context/folders.ts'
import type { Settings } from '../config/settings.ts'
import type { Context } from '../context.ts'
import { asModelgateError, Interrupted, UsageError, type ModelgateError } from '../errors.ts'
import { outputVersion } from '../events/version.ts'
import type { OutputEvent } from '../events/documents.ts'
import type { WorkerDocument } from '../events/run-document.ts'
import type { Outcome } from '../operations/operation.ts'
import type { Spending } from '../operations/spending.ts'
import { createGate, type Gate } from '../output/gate.ts'
import type { Output } from '../output/output.ts'
import { workerRenderer } from '../output/worker-output.ts'
import { lanes } from '../pipeline/manifest/manifest.ts'
import type { WorkerOptions } from '../pipeline/queue/worker/worker-call.ts'
import { createProblemList } from '../problems.ts'
import { executeSettings } from './run/manifest-command.ts'
import { openShared, readShared, type SharedPlaces } from './run/shared-places.ts'
import { defaultGrace, readWorkerFlags, type WorkerFlags } from './run/run-flags.ts'
import { showOperation } from './shared/call/run-operation.ts'
import { openGateway, readSettings } from './shared/gateway/open-gateway.ts'
import { addShared, addExamples, type Example } from './shared/options/common-options.ts'
import { readLimits } from './shared/options/read-limits.ts'

const examples: readonly Example[] = [
  ['modelgate run worker --queue redis://queue --store /srv/shared', 'until Ctrl-C'],
  [
    'modelgate run worker --lanes text=32,video=0',
    'queue and store from MODELGATE_QUEUE and MODELGATE_STORE',
  ],
  ['modelgate run worker --rate 20/s', 'of each lane, if all workers are given the same rate'],
  ['modelgate run worker --until-empty', 'in CI: ends with 0 when nothing is left'],
]

export function registerRunWorker(command: Command, context: Context): void {
  addExamples(command, examples)
  const own = [
    new Option('--queue <url>', 'the queue: postgres:// or redis:// (MODELGATE_QUEUE)'),
    new Option('--store <place>', 'the folder or s3://bucket/prefix that all share (MODELGATE_STORE)'),
    new Option(
      '--lanes <counts>',
      'how many requests at once, by kind (text=8,image=4,video=2); 0 takes none',
    ),
    new Option('--rate <rate>', 'requests of each lane that all workers together may send: 20/s or 600/m'),
    new Option('--until-empty', 'stop when nothing is left to do'),
    new Option('--grace <seconds>', `on Ctrl-C, how long to wait for requests under way (${defaultGrace})`),
  ]
  for (const option of own) command.addOption(option.helpGroup('Worker:'))
  addShared(command, 'json jsonl money gateway messages', {
    maxCreates: 'stop after this many results (exit 15); other workers do the rest',
    maxCost: 'end at this estimated cost of all calls of this machine since midnight',
    timeout: 'limit for one request (none)',
  })
  command.action(async (_: unknown, self: Command) => workOn(context, self.optsWithGlobals<WorkerFlags>()))
}

async function workOn(context: Context, flags: WorkerFlags): Promise<void> {
  const { check, throwIfAny } = createProblemList()
  const settings = await check(() => readSettings(context, flags))
  const options = await check(() => readWorkerFlags(flags))
  await check(() => readLimits(context, flags))
  const shared = await check(async () => settings && readShared(settings))
  throwIfAny()
  const folder = stateFolder(context)
  if (folder === undefined) {
    throw new UsageError('A worker needs a folder for its unfinished work, and there is no home directory.', {
      hint: 'Set MODELGATE_STATE_DIR.',
    })
  }
  const gate = createGate(context)
  let tally: Tally | undefined
  const call = { context, options: flags, settings: settings!, gate }
  const view = { own: workerRenderer, hasSent: () => tally!.hasSent() }
  await showOperation(call, view, async (output) => {
    tally = new Tally(context, output)
    try {
      return await workWith(context, flags, settings!, options!, { ...shared!, folder }, gate, tally)
    } catch (thrown) {
      return { kind: 'failed', error: tally.describe(thrown, flags), document: undefined }
    }
  })
}

async function workWith(
  context: Context,
  flags: WorkerFlags,
  settings: Settings,
  options: WorkerOptions,
  places: SharedPlaces & { readonly folder: string },
  gate: Gate,
  tally: Tally,
): Promise<Outcome<WorkerDocument>> {
  const isSandbox = flags.sandbox === true
  tally.event({ type: 'start', version: outputVersion, command: 'run worker', model: null })
  const opened = await openGateway({ context, options: flags, settings, gate }, false, tally)
  try {
    const { baseUrl } = opened.gateway
    const shared = await openShared(context, flags, settings, places, gate, baseUrl)
    try {
      const facts = { queue: places.queue.shown, store: shared.store.shown, sandbox: isSandbox }
      const { runWorker } = await import('../pipeline/queue/worker/worker.ts')
      const reason = await runWorker({
        context,
        server: shared.server,
        store: shared.store,
        shared: {
          gateway: opened.gateway,
          newSpending: () => handingOn(opened.newSpending()),
          ...executeSettings(settings),
          rescueFolder: rescueFolder(context),
        },
        redactor: gate,
        isSandbox,
        folder: join(places.folder, 'workers', shared.server.identity.replaceAll(/[^\w-]/g, '_')),
        options,
        listener: tally,
        onStart: (worker) =>
          tally.event({
            type: 'worker-start',
            worker,
            ...facts,
            lanes: lanes.map((lane) => ({ lane, concurrency: options.places[lane] })),
            rate: flags.rate?.trim() ?? null,
          }),
      })
      const document = tally.document(facts)
      if (reason === undefined) return { kind: 'ended', document }
      const error = tally.describe(reason, flags)
      // After a signal the worker has done all that it was to do.
      return error instanceof Interrupted
        ? { kind: 'ended', document, failure: error }
        : { kind: 'failed', error, document }
    } finally {
      await shared.server.close()
    }
  } finally {
    await opened.close()
  }
}

/** A request without a price is not for this worker, which has a limit; another one may have none. */
function handingOn(spending: Spending): Pick<Spending, 'admit' | 'withCost'> {
  return {
    withCost: (document) => spending.withCost(document),
    admit: (creation) =>
      spending.admit(creation).catch((error: unknown) => {
        throw error instanceof UsageError ? error.amend({ exit: 'limit' }) : error
      }),
  }
}

class Tally {
  readonly #clock: Context['clock']
  readonly #output: Output
  readonly #began: number
  readonly #warnings: string[] = []
  readonly #counts = { done: 0, failed: 0, unknown: 0, created: 0 }
  #worker = ''
  #sent = 0

  constructor({ clock }: Pick<Context, 'clock'>, output: Output) {
    this.#clock = clock
    this.#output = output
    this.#began = clock.monotonic()
  }

  event(event: OutputEvent): void {
    if (event.type === 'worker-start') this.#worker = event.worker
    if (event.type === 'task-start') this.#sent++
    if (event.type === 'warning-add' && this.#warnings.length < maxWarnings)
      this.#warnings.push(event.message)
    if (event.type === 'task-end' && event.outcome in this.#counts) {
      this.#counts[event.outcome as 'done' | 'failed' | 'unknown']++
      if (event.outcome === 'done') this.#counts.created += event.creates
    }
    this.#output.event(event)
    // What cannot be written is told at the end: what is being paid for goes on.
    this.#output.flush().catch(() => {})
  }

  hasSent(): boolean {
    return this.#sent > 0
  }

  /** What an error says of the request that it refused is not all that the worker has made. */
  describe(thrown: unknown, { debug }: WorkerFlags): ModelgateError {
    const error = asModelgateError(thrown, debug === true)
    const { billed = 'no' } = error.facts
    return error.amend({ billed: this.#counts.created > 0 ? 'yes' : this.hasSent() ? 'maybe' : billed })
  }

  document(facts: Pick<WorkerDocument, 'queue' | 'store' | 'sandbox'>): WorkerDocument {
    return {
      version: outputVersion,
      command: 'run worker',
      worker: this.#worker,
      ...facts,
      ...this.#counts,
      took_s: Math.round(this.#clock.monotonic() - this.#began) / 1000,
      warnings: this.#warnings,
    }
  }
}

const maxWarnings = 100
