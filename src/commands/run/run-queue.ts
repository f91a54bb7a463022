import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import type { Gate } from '../../output/gate.ts'
import { readQueueUrl } from '../../pipeline/queue/queue-url.ts'
import type { QueueCall, RunOptions } from '../../pipeline/run/run-call.ts'
import { configuredBaseUrl } from '../shared/gateway/open-gateway.ts'
import { openShared, readShared } from './shared-places.ts'
import type { RunFlags } from './run-flags.ts'

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
  const isMaking = options.mode === 'run'
  if (!isMaking && flags.detach) {
    throw new UsageError('--detach leaves requests to workers, and --plan, --check and --frozen make none.', {
      code: 'invalid_request',
    })
  }
  if (isMaking && options.shard !== null) {
    throw new UsageError(
      '--shard and a queue cannot be used together: the queue distributes the work by itself.',
      {
        code: 'invalid_request',
        hint: 'Leave out --shard, or run without --queue and MODELGATE_QUEUE.',
      },
    )
  }
  const { queue, store, sandbox } = flags
  // What only looks at how things stand needs no store, and opens nothing.
  const places = isMaking ? await readShared(settings) : undefined
  const { shown } = places?.queue ?? readQueueUrl(settings.queue.value)
  const worker = [context.program, 'run', 'worker', '--queue', shown, '--store', places?.store ?? '']
  return {
    words: [
      ...(queue === undefined ? [] : ['--queue', shown]),
      ...(store === undefined ? [] : ['--store', store]),
    ],
    callFor: (gate) => ({
      worker: sandbox ? [...worker, '--sandbox'] : worker,
      async open() {
        if (places === undefined) throw new Error('A look opens no queue.')
        const gateway = sandbox ? sandboxAddress : configuredBaseUrl(settings)
        return await openShared(context, flags, settings, places, gate, gateway, connections)
      },
    }),
  }
}

const connections = 4
/** The address of a sandbox is another one each time. */
const sandboxAddress = new URL('http://sandbox.invalid')
