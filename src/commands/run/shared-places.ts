import type { Settings } from '../../config/settings.ts'
import { UsageError } from '../../errors.ts'
import { passwordsOf, readQueueUrl } from '../../pipeline/queue/queue-url.ts'
import type { OpenQueue, QueueCall, RunOptions } from '../../pipeline/run/run-state.ts'
import { openSharedStore } from '../../pipeline/store/shared-store.ts'
import type { StoreNetwork } from '../../pipeline/store/store-request.ts'
import { createProblemList } from '../../problems.ts'
import {
  configuredBaseUrl,
  createTraceSink,
  networkOptions,
  type CommandCall,
} from '../shared/gateway/open-gateway.ts'
import type { RunFlags } from './run-flags.ts'

export type SharedPlaces = Awaited<ReturnType<typeof readShared>>

/** @throws UsageError with everything that is missing or wrong */
export async function readShared({ queue, store }: Settings) {
  const { add, check, throwIfAny } = createProblemList()
  const url = await check(() => {
    if (queue.value !== undefined) return readQueueUrl(queue.value)
    throw new UsageError('No queue was given: pass --queue, or set MODELGATE_QUEUE.')
  })
  if (store.value === undefined) {
    const hint = 'It is a folder on a disk that all of them have, or s3://bucket/prefix.'
    const message = 'No store was given: pass --store, or set MODELGATE_STORE.'
    add(new UsageError(message, { code: 'store_missing', hint }))
  }
  throwIfAny()
  return { queue: url!, store: store.value! }
}

export async function openShared(call: CommandCall, places: SharedPlaces, gateway: URL): Promise<OpenQueue> {
  const { context, options, gate } = call
  for (const password of passwordsOf(places.queue)) gate.hide(password)
  const store = await openSharedStore(context, places.store, await storeNetwork(call))
  const { QueueServer } = await import('../../pipeline/queue/queue-server.ts')
  const isSandbox = options.sandbox === true
  const server = await QueueServer.open(places.queue, { isSandbox, gateway, clock: context.clock })
  return { server, store }
}

export async function storeNetwork(call: CommandCall): Promise<StoreNetwork> {
  const { context, options, settings, gate } = call
  return {
    connection: await networkOptions(context, settings),
    allowHttp: settings.allowHttp.value,
    ...(options.debug ? { trace: createTraceSink(context, gate) } : {}),
  }
}

/** For a run with a queue. `words` are the flags that a command needs for the same one. */
export async function readQueue(
  call: CommandCall<RunFlags>,
  { mode, shard }: Pick<RunOptions, 'mode' | 'shard'>,
) {
  const { context, options: flags, settings } = call
  if (settings.queue.value === undefined) {
    const flag = flags.detach ? '--detach' : '--store'
    throw new UsageError(`${flag} needs a queue: give --queue, or set MODELGATE_QUEUE.`)
  }
  const isMaking = mode === 'run'
  if (isMaking && shard !== null) {
    const message = '--shard and a queue cannot be used together: the queue distributes the work by itself.'
    const hint = 'Leave out --shard, or run without --queue and MODELGATE_QUEUE.'
    throw new UsageError(message, { code: 'invalid_request', hint })
  }
  const { queue, store, sandbox } = flags
  // What only looks at how things stand needs no store, and opens nothing.
  const shared = isMaking ? await readShared(settings) : undefined
  const { shown } = shared?.queue ?? readQueueUrl(settings.queue.value)
  const worker = [context.program, 'run', 'worker', '--queue', shown, '--store', settings.store.value ?? '']
  return {
    words: [
      ...(queue === undefined ? [] : ['--queue', shown]),
      ...(store === undefined ? [] : ['--store', store]),
    ],
    call: {
      worker: sandbox ? [...worker, '--sandbox'] : worker,
      async open() {
        // The address of a sandbox is another one each time.
        const gateway = sandbox ? new URL('http://sandbox.invalid') : await configuredBaseUrl(settings)
        return await openShared(call, shared!, gateway)
      },
    } satisfies QueueCall,
  }
}
