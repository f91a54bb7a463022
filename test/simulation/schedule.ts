/** Events in simulated time, in milliseconds, and chance that is the same each time. */
export interface Schedule {
  now(): number
  after(ms: number, event: () => void): void
  /** A number in [0, 1). */
  random(): number
  /** Plays what has been scheduled, and what that schedules, for as long as it is wanted. */
  run(goesOn: () => boolean): void
}

interface Event {
  readonly at: number
  readonly number: number
  readonly event: () => void
}

export function createSchedule(seed: number): Schedule {
  // A binary heap.
  const heap: Event[] = []
  let now = 0
  let number = 0
  let state = seed >>> 0

  const isBefore = (one: Event, other: Event) =>
    one.at < other.at || (one.at === other.at && one.number < other.number)
  const push = (event: Event) => {
    let at = heap.push(event) - 1
    while (at > 0) {
      const above = (at - 1) >> 1
      if (!isBefore(event, heap[above]!)) break
      heap[at] = heap[above]!
      at = above
    }
    heap[at] = event
  }
  const pop = (): Event | undefined => {
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || first === last) return first
    let at = 0
    for (;;) {
      let next = 2 * at + 1
      if (next >= heap.length) break
      if (next + 1 < heap.length && isBefore(heap[next + 1]!, heap[next]!)) next++
      if (!isBefore(heap[next]!, last)) break
      heap[at] = heap[next]!
      at = next
    }
    heap[at] = last
    return first
  }

  return {
    now: () => now,
    after: (ms, event) => push({ at: now + Math.max(0, ms), number: number++, event }),
    random() {
      // mulberry32
      state = (state + 0x6d2b79f5) >>> 0
      let mixed = Math.imul(state ^ (state >>> 15), state | 1)
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
    },
    run(goesOn) {
      while (goesOn()) {
        const next = pop()
        if (next === undefined) return
        now = next.at
        next.event()
      }
    },
  }
}
