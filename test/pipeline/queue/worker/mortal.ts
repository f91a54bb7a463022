import type { DocumentStore } from '../../../../src/pipeline/queue/document-store.ts'
import type { Sender } from '../../../../src/pipeline/queue/delivery.ts'
import type { SharedStore } from '../../../../src/pipeline/store/shared-store.ts'

/** A process that nobody answers any more. */
const never = new Promise<never>(() => {})

/**
 * A worker's way to the outside, which ends at its `at`th step: before the step has happened, or once it has. Then all that the
 * worker still does comes to nothing, as after SIGKILL.
 */
export function mortal(at: number, when: 'before' | 'after', onDeath: (step: string) => void) {
  let count = 0
  let isDead = false
  const step = async <Result>(name: string, work: () => Promise<Result>): Promise<Result> => {
    if (isDead) return await never
    const isLast = ++count === at
    if (isLast && when === 'before') {
      isDead = true
      onDeath(name)
      return await never
    }
    const result = await work()
    if (isLast) {
      isDead = true
      onDeath(name)
    }
    return isDead ? await never : result
  }
  return {
    isDead: () => isDead,
    documents: (inner: DocumentStore): DocumentStore => ({
      ...inner,
      read: (names) => step('read', () => inner.read(names)),
      transact: (names, change) => step('transact', () => inner.transact(names, change)),
    }),
    sender: (inner: Sender): Sender => ({
      ...inner,
      send: (...sent) => step('send', () => inner.send(...sent)),
    }),
    store: (inner: SharedStore): SharedStore => ({
      ...inner,
      put: (path, sha256) => step('put', () => inner.put(path, sha256)),
      fetch: (sha256, path) => step('fetch', () => inner.fetch(sha256, path)),
    }),
    /** The request itself. */
    gateway: { beforeSend: () => step('request', async () => {}) },
  }
}
