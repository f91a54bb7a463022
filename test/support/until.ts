import { createHook, executionAsyncId } from 'node:async_hooks'
import { watch } from 'node:fs'

interface Waiter extends Pick<PromiseWithResolvers<void>, 'resolve' | 'reject'> {
  readonly condition: () => boolean
}

const waiters = new Set<Waiter>()
let isScheduled = false
let checkId = -1

/** A condition can change only when something has run in this process: a callback or the rest of an async function. */
const activity = createHook({
  after(asyncId) {
    if (asyncId !== checkId) schedule()
  },
})

function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  setImmediate(check)
}

function check(): void {
  isScheduled = false
  checkId = executionAsyncId()
  for (const waiter of waiters) {
    try {
      if (!waiter.condition()) continue
      waiter.resolve()
    } catch (error) {
      waiter.reject(error)
    }
    waiters.delete(waiter)
  }
  if (waiters.size === 0) activity.disable()
}

/**
 * Waits until the condition holds, and does not spin meanwhile: it is asked again after each event of this process.
 * The test's own time limit ends a wait in vain.
 * @param folder is watched too; for a condition that another process makes true by changing this folder
 */
export async function until(condition: () => boolean, folder?: string): Promise<void> {
  if (condition()) return
  using watcher = folder === undefined ? undefined : watching(folder)
  void watcher
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  waiters.add({ condition, resolve, reject })
  activity.enable()
  // What has changed since the first look, as in a folder before it was watched.
  schedule()
  await promise
}

function watching(folder: string): Disposable {
  const watcher = watch(folder, () => {})
  return { [Symbol.dispose]: () => watcher.close() }
}
