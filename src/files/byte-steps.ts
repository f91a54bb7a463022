/** What a reader wants next: some bytes, or to be past some, however many. */
type Want =
  | { readonly take: number; readonly skip?: never }
  | { readonly skip: number; readonly take?: never }

/** What it gets; both are too few only at the end. */
interface Got {
  readonly bytes: Buffer
  readonly count: number
}

/** Code that reads bytes as if it could ask for them, while they are pushed at it. */
export type Steps<Result> = Generator<Want, Result, Got>

/** The next bytes, at most 256; fewer when there are no more. */
export function* take(count: number): Steps<Buffer> {
  return (yield { take: count }).bytes
}

/** Goes on behind the next bytes. Infinity goes to the end. @returns whether there were so many */
export function* skip(count: number): Steps<boolean> {
  return (yield { skip: count }).count === count || count === Infinity
}

/** Steps that are fed in pieces of any size. */
export interface PushedSteps<Result> {
  add(bytes: Uint8Array): void
  /** There is no more: the steps come to their end. The last call. */
  finish(): Result
}

const mostTaken = 256
const nothing = Buffer.alloc(0)

/** Steps must end once they get less than they ask for. What comes after their end is not looked at. */
export function pushInto<Result>(steps: Steps<Result>): PushedSteps<Result> {
  const kept = Buffer.alloc(mostTaken)
  let count = 0
  let turn = steps.next()

  const answer = ({ take: wanted }: Want) => {
    const bytes = wanted === undefined ? nothing : Buffer.from(kept.subarray(0, count))
    turn = steps.next({ bytes, count })
    count = 0
  }
  return {
    add(bytes) {
      for (let at = 0; !turn.done;) {
        const want = turn.value
        const step = Math.min((want.take ?? want.skip) - count, bytes.length - at)
        if (want.take !== undefined) kept.set(bytes.subarray(at, at + step), count)
        count += step
        at += step
        if (count < (want.take ?? want.skip)) return
        answer(want)
      }
    },
    finish() {
      while (!turn.done) answer(turn.value)
      return turn.value
    },
  }
}
