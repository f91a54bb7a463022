import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import type { Gate } from '../../output/gate.ts'
import { readQueueUrl, type QueueUrl } from '../../pipeline/queue/queue-url.ts'
import type { QueueCall, RunOptions } from '../../pipeline/run/run-call.ts'
import { configuredBaseUrl } from '../shared/gateway/open-gateway.ts'
import { openShared, readShared, type SharedPlaces } from './shared-places.ts'
import type { RunFlags } from './run-flags.ts'

/** The queue that a run gives its requests to. */
export interface RunQueue {
  /** The flags that a command needs to use it, too; none where the environment or a file names it. */
  readonly words: readonly string[]
  callFor(gate: Gate): QueueCall
}

/**
 * What the flags and settings say of a queue; undefined for a run that makes its requests itself.
 * @throws UsageError for flags that exclude each other, and for places that are missing or none
 */
export async function readQueue(
  context: Context,
  flags: RunFlags,
  settings: Settings,
  options: Pick<RunOptions, 'mode' | 'shard'>,
): Promise<RunQueue | undefined> {
  if (settings.queue.value === undefined) {
    const without = flags.detach ? '--detach' : flags.store === undefined ? undefined : '--store'
    if (without === undefined) return undefined
    throw new UsageError(`${without} needs a queue: give --queue, or set MODELGATE_QUEUE.`)
  }
  if (options.mode !== 'run' && flags.detach) {
    throw new UsageError('--detach leaves requests to workers, and --plan, --check and --frozen make none.', {
      code: 'invalid_request',
    })
  }
  // What only looks at how things stand opens none.
  if (options.mode !== 'run') {
    return { words: wordsFor(flags, readQueueUrl(settings.queue.value)), callFor: () => notOpened }
  }
  if (options.shard !== null) {
    throw new UsageError(
      '--shard and a queue cannot be used together: the queue distributes the work by itself.',
      {
        code: 'invalid_request',
        hint: 'Leave out --shard, or run without --queue and MODELGATE_QUEUE.',
      },
    )
  }
  const places = await readShared(settings)
  return {
    words: wordsFor(flags, places.queue),
    callFor: (gate) => callFor(context, flags, settings, places, gate),
  }
}

function wordsFor({ queue, store }: RunFlags, { shown }: QueueUrl): readonly string[] {
  return [
    ...(queue === undefined ? [] : ['--queue', shown]),
    ...(store === undefined ? [] : ['--store', store]),
  ]
}

const notOpened: QueueCall = {
  worker: [],
  open: () => Promise.reject(new Error('A look opens no queue.')),
}

/** Connections to PostgreSQL of a run. */
const connections = 4
/** The address of a sandbox is another one each time. */
const sandboxAddress = new URL('http://sandbox.invalid')

function callFor(
  context: Context,
  flags: RunFlags,
  settings: Settings,
  places: SharedPlaces,
  gate: Gate,
): QueueCall {
  const { program } = context
  const sandbox = flags.sandbox ? ['--sandbox'] : []
  return {
    worker: [program, 'run', 'worker', '--queue', places.queue.shown, '--store', places.store, ...sandbox],
    open: () => {
      const gateway = flags.sandbox ? sandboxAddress : configuredBaseUrl(settings)
      return openShared(context, flags, settings, places, gate, gateway, connections)
    },
  }
}
