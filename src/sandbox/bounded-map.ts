/** A map that forgets its oldest entries, so that no number of requests fills the memory. */
export interface BoundedMap<Value> {
  get(key: string): Value | undefined
  /** Puts an entry behind all others, in place of one of the same name; those pushed out are gone. */
  set(key: string, value: Value, size?: number): void
  delete(key: string): boolean
  values(): Iterable<Value>
}

/**
 * @param maxEntries entries
 * @param maxSize of all entries together, in any unit; the newest stays whatever its size
 */
export function createBoundedMap<Value>(maxEntries: number, maxSize = Infinity): BoundedMap<Value> {
  const entries = new Map<string, { readonly value: Value; readonly size: number }>()
  let total = 0
  const remove = (key: string) => {
    total -= entries.get(key)?.size ?? 0
    return entries.delete(key)
  }
  return {
    get: (key) => entries.get(key)?.value,
    set(key, value, size = 0) {
      remove(key)
      entries.set(key, { value, size })
      total += size
      for (const oldest of entries.keys()) {
        if ((entries.size <= maxEntries && total <= maxSize) || oldest === key) break
        remove(oldest)
      }
    },
    delete: remove,
    *values() {
      for (const { value } of entries.values()) yield value
    },
  }
}
