import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import type { Gate } from '../../output/gate.ts'
import { passwordsOf, readQueueUrl, type QueueUrl } from '../../pipeline/queue/queue-url.ts'
import type { OpenQueue } from '../../pipeline/run/run-call.ts'
import { openSharedStore } from '../../pipeline/store/shared-store.ts'
import type { StoreNetwork } from '../../pipeline/store/store-request.ts'
import { createProblemList } from '../../problems.ts'
import { createTraceSink, networkOptions } from '../shared/gateway/open-gateway.ts'
import type { CommonOptions } from '../shared/options/common-options.ts'

export interface SharedPlaces {
  readonly queue: QueueUrl
  /** A folder, or `s3://bucket/prefix`. */
  readonly store: string
}

/** @throws UsageError with everything that is missing or wrong */
export async function readShared({ queue, store }: Settings): Promise<SharedPlaces> {
  const { check, throwIfAny } = createProblemList()
  const url = await check(() => {
    if (queue.value === undefined) {
      throw new UsageError('No queue was given: pass --queue, or set MODELGATE_QUEUE.', {})
    }
    return readQueueUrl(queue.value)
  })
  await check(() => {
    if (store.value !== undefined) return
    throw new UsageError('No store was given: pass --store, or set MODELGATE_STORE.', {
      code: 'store_missing',
      hint: 'It is a folder on a disk that all of them have, or s3://bucket/prefix.',
    })
  })
  throwIfAny()
  return { queue: url!, store: store.value! }
}

/**
 * @param connections how many to PostgreSQL may be in use at once
 * @throws UsageError; FileError; ModelgateError (exit 3, 5, 6) for a place that cannot be used or reached
 */
export async function openShared(
  context: Context,
  options: Pick<CommonOptions, 'sandbox' | 'debug' | 'allowHttp'>,
  settings: Settings,
  places: SharedPlaces,
  gate: Gate,
  gateway: URL,
  connections: number,
): Promise<OpenQueue> {
  for (const password of passwordsOf(places.queue)) gate.hide(password)
  const store = await openSharedStore(
    context,
    places.store,
    await storeNetwork(context, options, settings, gate),
  )
  const { QueueServer } = await import('../../pipeline/queue/queue-server.ts')
  const server = await QueueServer.open(places.queue, {
    isSandbox: options.sandbox === true,
    gateway,
    clock: context.clock,
    connections,
  })
  return { server, store, close: () => server.close() }
}

/** How a store on a server is reached. @throws UsageError, ModelgateError `config_invalid` */
export async function storeNetwork(
  context: Context,
  { debug }: Pick<CommonOptions, 'debug'>,
  settings: Settings,
  gate: Gate,
): Promise<StoreNetwork> {
  return {
    connection: await networkOptions(context, settings),
    allowHttp: settings.allowHttp.value,
    ...(debug ? { trace: createTraceSink(context, gate) } : {}),
  }
}
