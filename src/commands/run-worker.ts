import { join } from 'node:path'
import type { Command } from 'commander'
import { stateFolder } from '../context/folders.ts'
import type { Context } from '../context.ts'
import { asModelgateError, Interrupted, UsageError } from '../errors.ts'
import { outputVersion } from '../events/version.ts'
import type { OutputEvent } from '../events/documents.ts'
import type { WorkerDocument } from '../events/run-document.ts'
import type { Outcome } from '../operations/operation.ts'
import type { Spending } from '../operations/spending.ts'
import type { Output } from '../output/output.ts'
import { workerRenderer } from '../output/worker-output.ts'
import { lanes } from '../pipeline/manifest/manifest.ts'
import type { WorkerOptions } from '../pipeline/queue/worker/worker-call.ts'
import { createProblemList } from '../problems.ts'
import { executeSettings } from './run/manifest-command.ts'
import { openShared, readShared, type SharedPlaces } from './run/shared-places.ts'
import { defaultGrace, readWorkerFlags, type WorkerFlags } from './run/run-flags.ts'
import { showOperation } from './shared/call/run-operation.ts'
import { openGateway, startCall, type CommandCall, type OpenGateway } from './shared/gateway/open-gateway.ts'
import { addShared, addExamples } from './shared/options/common-options.ts'
import { readLimits } from './shared/options/read-limits.ts'

export function registerRunWorker(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate run worker --queue redis://queue --store /srv/shared', 'until Ctrl-C'],
    [
      'modelgate run worker --lanes text=32,video=0',
      'queue and store from MODELGATE_QUEUE and MODELGATE_STORE',
    ],
    ['modelgate run worker --rate 20/s', 'of each lane, if all workers are given the same rate'],
    ['modelgate run worker --until-empty', 'in CI: ends with 0 when nothing is left'],
  ])
  command
    .optionsGroup('Worker:')
    .option('--queue <url>', 'the queue: postgres:// or redis:// (MODELGATE_QUEUE)')
    .option('--store <place>', 'the folder or s3://bucket/prefix that all share (MODELGATE_STORE)')
    .option('--lanes <counts>', 'how many requests at once, by kind (text=8,image=4,video=2); 0 takes none')
    .option('--rate <rate>', 'requests of each lane that all workers together may send: 20/s or 600/m')
    .option('--until-empty', 'stop when nothing is left to do')
    .option('--grace <seconds>', `on Ctrl-C, how long to wait for requests under way (${defaultGrace})`)
  addShared(command, 'json jsonl money gateway messages', {
    maxCreates: 'stop after this many results (exit 15); other workers do the rest',
    maxCost: 'end at this estimated cost of all calls of this machine since midnight',
    timeout: 'limit for one request (none)',
  })
  command.action(async (flags: WorkerFlags) => workOn(context, flags))
}

async function workOn(context: Context, flags: WorkerFlags): Promise<void> {
  const { check, throwIfAny } = createProblemList()
  const call = await check(() => startCall(context, flags))
  const options = await check(() => readWorkerFlags(flags))
  await check(() => readLimits(context, flags))
  const shared = await check(async () => call && readShared(call.settings))
  throwIfAny()
  const folder = stateFolder(context)
  if (folder === undefined) {
    throw new UsageError('A worker needs a folder for its unfinished work, and there is no home directory.', {
      hint: 'Set MODELGATE_STATE_DIR.',
    })
  }
  let opened: OpenGateway | undefined
  const hasSent = () => opened?.hasSent() ?? false
  const work = async (output: Output): Promise<Outcome<WorkerDocument>> => {
    const tally = createTally(output)
    /** What an error says of the request that it refused is not all that the worker has made. */
    const errorOf = (thrown: unknown) => {
      const error = asModelgateError(thrown, flags.debug === true)
      const { billed = 'no' } = error.facts
      return error.amend({ billed: tally.counts.created > 0 ? 'yes' : hasSent() ? 'maybe' : billed })
    }
    try {
      tally.event({ type: 'start', version: outputVersion, command: 'run worker', model: null })
      opened = await openGateway(call!, false, tally)
      const places = { ...shared!, folder: join(folder, 'workers') }
      const { document, reason } = await workWith(call!, options!, places, opened, tally)
      const error = reason === undefined ? undefined : errorOf(reason)
      // After a signal the worker has done all that it was to do.
      if (error === undefined || error instanceof Interrupted)
        return { kind: 'ended', document, failure: error }
      return { kind: 'failed', error, document }
    } catch (thrown) {
      return { kind: 'failed', error: errorOf(thrown), document: undefined }
    }
  }
  await showOperation(call!, { own: workerRenderer, hasSent }, work).finally(() => opened?.close())
}

/** @returns the reason of its end, beside a document of what it has done */
async function workWith(
  call: CommandCall<WorkerFlags>,
  options: WorkerOptions,
  places: SharedPlaces & { readonly folder: string },
  { gateway, newSpending }: OpenGateway,
  tally: Tally,
) {
  const { context, options: flags, gate } = call
  const began = context.clock.monotonic()
  const isSandbox = flags.sandbox === true
  const { server, store } = await openShared(call, places, gateway.baseUrl)
  try {
    const facts = { worker: '', queue: places.queue.shown, store: store.shown, sandbox: isSandbox }
    const { runWorker } = await import('../pipeline/queue/worker/worker.ts')
    const reason = await runWorker({
      context,
      server,
      store,
      shared: { ...executeSettings(call), gateway, newSpending: () => handingOn(newSpending()) },
      redactor: gate,
      isSandbox,
      folder: join(places.folder, server.identity.replaceAll(/[^\w-]/g, '_')),
      options,
      listener: tally,
      onStart(name) {
        facts.worker = name
        const own = lanes.map((lane) => ({ lane, concurrency: options.places[lane] }))
        tally.event({ type: 'worker-start', ...facts, lanes: own, rate: flags.rate?.trim() ?? null })
      },
    })
    const document: WorkerDocument = {
      version: outputVersion,
      command: 'run worker',
      ...facts,
      ...tally.counts,
      took_s: Math.round(context.clock.monotonic() - began) / 1000,
      warnings: tally.warnings,
    }
    return { document, reason }
  } finally {
    await server.close()
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

type Tally = ReturnType<typeof createTally>

/** Counts what the worker has made, as it reports it. */
function createTally(output: Output) {
  const counts = { done: 0, failed: 0, unknown: 0, created: 0 }
  const warnings: string[] = []
  return {
    counts,
    warnings,
    event(event: OutputEvent): void {
      if (event.type === 'warning-add' && warnings.length < maxWarnings) warnings.push(event.message)
      if (event.type === 'task-end' && event.outcome in counts) {
        counts[event.outcome as 'done' | 'failed' | 'unknown']++
        if (event.outcome === 'done') counts.created += event.creates
      }
      output.event(event)
      // What cannot be written is reported at the end: paid work continues.
      output.flush().catch(() => {})
    },
  }
}

const maxWarnings = 100
