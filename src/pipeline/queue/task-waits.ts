import type { Clock, Timer } from '../../context.ts'
import { asModelgateError, ModelgateError } from '../../errors.ts'
import { isObject, type JsonObject } from '../../json.ts'
import type { DocumentStore } from './document-store.ts'
import { lookAt } from './submissions.ts'
import { isFinal, type TaskDocument } from './task-document.ts'

export interface TaskNews {
  /** It has been begun by a worker, perhaps once more. */
  onSent(): void
  onProgress(state: string, percent: number | null): void
  /** As it was found; it has not come to its end. */
  onTask(task: TaskDocument): void
}

/** A task that is waited for. */
export interface TaskWait {
  /**
   * Waits for its end, now that it has been submitted; messages since the call of `expect` count, too.
   * @param isUnderWay whether nobody will tell that it has been begun
   * @throws the reason of `fail`; ModelgateError `queue_lost` (exit 7) when its document is gone
   */
  untilEnd(isUnderWay: boolean): Promise<TaskDocument>
  /** Waits no longer. */
  forget(): void
}

export interface TaskWaits {
  readonly keys: readonly string[]
  /** Whether any task has been begun, or has ended. */
  readonly hasNews: boolean
  expect(key: string, news: TaskNews): TaskWait
  /** Looks at tasks; whoever waits for one that has ended knows it when this resolves. Never throws. */
  look(keys: readonly string[]): Promise<void>
  /** Ends all waits with an error each. */
  fail(errorOf: (key: string) => unknown): void
  close(): Promise<void>
}

/** A message can be lost: all tasks are looked at so often. */
const lookMs = 15_000
/** A queue that is away is asked again after so long, and given up when it has been away for so long. */
const retryMs = 5_000
const outageMs = 120_000

interface Wait extends TaskNews {
  readonly end: PromiseWithResolvers<TaskDocument>
  isSubmitted: boolean
  /** Whether something was told of it before it was known to be submitted. */
  hasChanged: boolean
}

/** Waits for tasks by the messages of their queue, and looks at all of them where messages may have been missed. */
export async function waitForTasks(documents: DocumentStore, clock: Clock): Promise<TaskWaits> {
  const waits = new Map<string, Wait>()
  const dirty = new Set<string>()
  let [isClosed, hasNews] = [false, false]
  let looking: Promise<void> | undefined
  let awaySince: number | undefined
  let timer: Timer | undefined

  const look = async (keys: Iterable<string>) => {
    for (const key of keys) if (waits.get(key)?.isSubmitted === true) dirty.add(key)
    if (dirty.size > 0 && !isClosed) await (looking ??= lookAtAll())
  }
  const lookAtAll = async () => {
    while (dirty.size > 0 && !isClosed) {
      const keys = [...dirty]
      dirty.clear()
      try {
        const found = await lookAt(documents, keys)
        awaySince = undefined
        for (const key of keys) take(key, found.get(key))
      } catch (thrown) {
        for (const key of keys) dirty.add(key)
        const error = asModelgateError(thrown, false)
        awaySince ??= clock.monotonic()
        const isAway = error.code === 'queue_unreachable' && clock.monotonic() - awaySince < outageMs
        if (isAway) break
        fail(() => (error.code === 'queue_lost' ? lostBy(error) : error))
      }
    }
    looking = undefined
    if (dirty.size > 0) again(retryMs)
  }
  const again = (ms: number) => {
    timer?.cancel()
    if (isClosed) return
    timer = clock.timer(ms, () => {
      again(lookMs)
      void look(waits.keys())
    })
  }
  const take = (key: string, task: TaskDocument | undefined) => {
    const wait = waits.get(key)
    if (wait === undefined) return
    if (task !== undefined && task.state !== 'waiting') hasNews = true
    if (task !== undefined && !isFinal(task)) return wait.onTask(task)
    waits.delete(key)
    if (task === undefined) wait.end.reject(lostBy(undefined))
    else wait.end.resolve(task)
  }
  const onMessage = (message: string) => {
    const { key, state, progress } = read(message)
    const wait = typeof key === 'string' ? waits.get(key) : undefined
    if (wait === undefined) return
    if (isObject(progress)) {
      const { state: name, percent } = progress
      return wait.onProgress(String(name), typeof percent === 'number' ? percent : null)
    }
    if (state === 'waiting') return
    hasNews = true
    if (state === 'sent') return wait.onSent()
    wait.hasChanged = true
    void look([key as string])
  }
  const fail = (errorOf: (key: string) => unknown) => {
    const all = [...waits]
    waits.clear()
    dirty.clear()
    for (const [key, { end }] of all) end.reject(errorOf(key))
  }

  const unwatch = await documents.watch(onMessage, () => void look(waits.keys()))
  again(lookMs)
  return {
    get keys() {
      return [...waits].flatMap(([key, { isSubmitted }]) => (isSubmitted ? [key] : []))
    },
    get hasNews() {
      return hasNews
    },
    expect(key, news) {
      const end = Promise.withResolvers<TaskDocument>()
      // It may end while nobody waits for it yet.
      end.promise.catch(() => {})
      const wait: Wait = { ...news, end, isSubmitted: false, hasChanged: false }
      waits.set(key, wait)
      return {
        untilEnd(isUnderWay) {
          wait.isSubmitted = true
          if (isUnderWay || wait.hasChanged) void look([key])
          return end.promise
        },
        forget() {
          if (waits.get(key) === wait) waits.delete(key)
        },
      }
    },
    look,
    fail,
    async close() {
      isClosed = true
      timer?.cancel()
      await unwatch().catch(() => {})
    },
  }
}

function lostBy(cause: ModelgateError | undefined): ModelgateError {
  const message = 'The queue has lost the request: its outcome is unknown.'
  return new ModelgateError('unknown', 'queue_lost', message, { phase: 'wait', billed: 'maybe', cause })
}

function read(message: string): JsonObject {
  try {
    const value: unknown = JSON.parse(message)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}
