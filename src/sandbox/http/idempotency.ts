import { createBoundedMap } from '../bounded-map.ts'
import { frameBytes, type Frame, type Frames, type Reply } from './reply.ts'
import { RequestProblem } from './request-problem.ts'

/** Maximum of their bytes together; the newest is kept whatever its size. */
const keptBytes = 64 * 1024 * 1024

/** @param keptAnswers how many answers to requests with an `Idempotency-Key` are kept, if they are not too large */
export function createFirstAnswers(keptAnswers = 1000) {
  const kept = createBoundedMap<{ readonly identity: string; readonly reply: Promise<Reply | undefined> }>(
    keptAnswers,
    keptBytes,
  )
  /**
   * Answers a request, or gives the first answer to its key again, also while that is being made. Only what was accepted
   * is kept: after a refused or failed request, the next with its key is answered anew.
   * @param identity the same for requests that say the same
   */
  return async (key: string, identity: string, answer: () => Promise<Reply>): Promise<Reply> => {
    for (let known = kept.get(key); known !== undefined; known = kept.get(key)) {
      if (known.identity !== identity) {
        throw new RequestProblem(400, 'This Idempotency-Key was used for another request.', {
          type: 'idempotency_error',
          code: 'idempotency_key_reused',
        })
      }
      const first = await known.reply
      // Marked as public services mark it.
      const mark = { 'idempotent-replayed': 'true' }
      if (first !== undefined) return { ...first, headers: { ...first.headers, ...mark }, repeats: true }
    }
    const { promise: reply, resolve: settle } = Promise.withResolvers<Reply | undefined>()
    const entry = { identity, reply }
    kept.set(key, entry)
    const grow = (size: number) => {
      if (kept.get(key) === entry) kept.set(key, entry, size)
    }
    let accepted: Reply | undefined
    try {
      const made = await answer()
      if (made.creates) accepted = { ...made, frames: replayable(made.frames, grow) }
      return accepted ?? made
    } finally {
      if (accepted === undefined) kept.delete(key)
      settle(accepted)
    }
  }
}

/**
 * Frames that can be sent more than once. Each is made when the first of their readers needs it.
 * @param grow called with the number of bytes made so far
 */
function replayable(frames: Frames, grow: (size: number) => void): Frames {
  const source = Symbol.asyncIterator in frames ? frames[Symbol.asyncIterator]() : frames[Symbol.iterator]()
  const made: Frame[] = []
  let size = 0
  /** The step in progress; the last one, once there are no more frames. */
  let step: Promise<boolean> | undefined
  const advance = async () => {
    const { done, value } = await source.next()
    if (done) return false
    made.push(value)
    size += frameBytes(value).length
    grow(size)
    step = undefined
    return true
  }
  return {
    async *[Symbol.asyncIterator]() {
      for (let index = 0; index < made.length || (await (step ??= advance())); index++) yield made[index]!
    },
  }
}
