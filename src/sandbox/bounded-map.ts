/**
 * A map that drops its oldest entries, so that no number of requests fills the memory.
 * @param maxEntries maximum number of entries
 * @param maxSize of all entries together, in any unit; the newest is kept whatever its size
 */
export function createBoundedMap<Value>(maxEntries: number, maxSize = Infinity) {
  const entries = new Map<string, { readonly value: Value; readonly size: number }>()
  let total = 0
  const remove = (key: string): boolean => {
    total -= entries.get(key)?.size ?? 0
    return entries.delete(key)
  }
  return {
    get: (key: string): Value | undefined => entries.get(key)?.value,
    /** Adds an entry as the newest, replacing one of the same name, and drops the oldest ones if necessary. */
    set(key: string, value: Value, size = 0) {
      remove(key)
      entries.set(key, { value, size })
      total += size
      for (const oldest of entries.keys()) {
        if ((entries.size <= maxEntries && total <= maxSize) || oldest === key) break
        remove(oldest)
      }
    },
    delete: remove,
    values: () => entries.values().map(({ value }) => value),
  }
}
