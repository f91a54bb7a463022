/** The order in which what waits for a place in a lane gets one. */
export interface QueueOrder {
  /** Whether it goes on with what has been paid for already: before everything that is new. */
  readonly isFollowUp: boolean
  /** In seconds, how long it and what waits for it will take: the longest first. */
  readonly priority: number
}

interface Entry<Task> {
  readonly task: Task
  readonly isFollowUp: boolean
  readonly priority: number
  readonly number: number
}

/** What waits for a place: a binary heap, so that each of ten thousand costs little. */
export interface TaskQueue<Task> {
  readonly size: number
  /** @param number the order of those that are equal otherwise */
  push(task: Task, order: QueueOrder, number: number): void
  /** Takes the first one out. */
  pop(): Task | undefined
  /** Takes all out, in no order. */
  clear(): Task[]
}

export function createTaskQueue<Task>(): TaskQueue<Task> {
  // Each entry comes before those at twice its place, plus one and plus two.
  let heap: Entry<Task>[] = []

  const rise = (at: number) => {
    const entry = heap[at]!
    while (at > 0) {
      const above = (at - 1) >> 1
      if (!isBefore(entry, heap[above]!)) break
      heap[at] = heap[above]!
      at = above
    }
    heap[at] = entry
  }
  const sink = (entry: Entry<Task>) => {
    let at = 0
    for (;;) {
      const left = 2 * at + 1
      if (left >= heap.length) break
      const right = left + 1
      const next = right < heap.length && isBefore(heap[right]!, heap[left]!) ? right : left
      if (!isBefore(heap[next]!, entry)) break
      heap[at] = heap[next]!
      at = next
    }
    heap[at] = entry
  }

  return {
    get size() {
      return heap.length
    },
    push(task, { isFollowUp, priority }, number) {
      heap.push({ task, isFollowUp, priority, number })
      rise(heap.length - 1)
    },
    pop() {
      const first = heap[0]
      const last = heap.pop()
      if (last !== undefined && last !== first) sink(last)
      return first?.task
    },
    clear() {
      const all = heap.map(({ task }) => task)
      heap = []
      return all
    },
  }
}

function isBefore(one: Entry<unknown>, other: Entry<unknown>): boolean {
  if (one.isFollowUp !== other.isFollowUp) return one.isFollowUp
  return one.priority === other.priority ? one.number < other.number : one.priority > other.priority
}
