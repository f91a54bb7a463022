import { randomBytes } from 'node:crypto'
import { ModelgateError } from '../errors.ts'
import type { ImageDocument } from '../events/image.ts'
import type { MadeImages } from '../files/calls/job-record.ts'
import type { JobStore, StoredJob } from '../files/calls/job-store.ts'
import type { NextCommand } from '../files/next-command.ts'
import { idempotencyKeyOf } from '../gateway/url.ts'
import type { ImageRequest } from './image-request.ts'
import { recordJob, type RecordPlan } from './jobs.ts'
import type { Call, Outcome } from './operation.ts'

export interface ImageRecordPlan extends RecordPlan {
  /** The command that fetches the images later. */
  readonly resume: (id: string) => NextCommand
}

/**
 * Puts images at addresses on record before they are fetched, under an id of this machine.
 * @returns `onMade` for the plan of a request, and `settle` for its outcome
 */
export function recordImages(call: Call, request: ImageRequest, plan: ImageRecordPlan) {
  const { gateway, listener } = call
  let stored: StoredJob | undefined
  return {
    async onMade(all: MadeImages): Promise<NextCommand | undefined> {
      // What came in the reply itself cannot be asked for again.
      const made = { ...all, images: all.images.filter(({ url }) => !url.startsWith('data:')) }
      if (made.images.length === 0) return undefined
      const id = `image_${randomBytes(5).toString('hex')}`
      const { expires_at, request_id } = made
      stored = await recordJob(
        call,
        plan,
        {
          kind: 'image',
          command: request.command,
          model: made.model ?? '',
          prompt: request.prompt,
          base_url: gateway.baseUrl.href,
          request: request.body,
          idempotency_key: idempotencyKeyOf(gateway),
        },
        (reason) =>
          listener.event({ type: 'warning-add', message: `The images are not on record: ${reason}` }),
        { id, state: 'completed', expires_at, request_id, made },
      )
      return stored && plan.resume(id)
    },
    async settle(outcome: Outcome<ImageDocument>): Promise<void> {
      if (stored !== undefined) await settleImages(plan.store, stored, outcome)
    },
  }
}

/** Keeps on record what is left to fetch, and forgets the rest. Best effort: the images are as safe as before. */
export async function settleImages(
  store: JobStore,
  stored: StoredJob,
  outcome: Outcome<ImageDocument>,
): Promise<void> {
  const { document } = outcome
  const error = outcome.kind === 'failed' ? outcome.error : outcome.failure
  const left = new Set(document?.links.map(({ index }) => index))
  // It ended before anything was fetched: all of it is left.
  if (error !== undefined && left.size === 0 && !document?.files.length) return
  const { made } = stored.record
  if (made === undefined || left.size === 0) return await store.forget([stored])
  const isLost = error?.code === 'result_expired'
  const images = made.images.filter(({ index }) => left.has(index))
  const change = isLost
    ? ({ state: 'failed', error: { code: error.code, message: error.message } } as const)
    : {}
  await stored.update({ ...change, made: { ...made, images } }).catch((thrown: unknown) => {
    if (!(thrown instanceof ModelgateError)) throw thrown
  })
}
