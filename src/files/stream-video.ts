import type { Context } from '../context.ts'
import { createVideoInspector } from './video-info.ts'

/** A video on its way to standard output. */
export interface VideoStream {
  /** @throws ContractError `not_a_video` as soon as the first bytes tell */
  write(bytes: Uint8Array): Promise<void>
  /** @throws ContractError `empty_video`, `not_a_video` */
  done(): Promise<undefined>
  drop(): Promise<void>
}

/**
 * Hands a video to standard output as it comes (`-o -`), nothing of it before the first bytes have shown that it is one.
 */
export function streamVideo({ stdout }: Pick<Context, 'stdout'>): VideoStream {
  const inspector = createVideoInspector()
  const waiting: Uint8Array[] = []

  async function pass() {
    for (const bytes of waiting.splice(0)) stdout.write(bytes)
    if (stdout.needsDrain) await stdout.drain()
  }
  return {
    async write(bytes) {
      // A copy, because the stream may hold it longer than whoever gives it.
      waiting.push(Buffer.from(bytes))
      if (inspector.add(bytes) !== undefined) await pass()
    },
    async done() {
      inspector.finish()
      await pass()
      await stdout.drain()
      return undefined
    },
    async drop() {
      waiting.length = 0
    },
  }
}
