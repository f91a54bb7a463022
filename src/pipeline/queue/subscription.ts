import type { Clock, Timer } from '../../context.ts'

/** A connection that messages come over. */
export interface MessageConnection {
  close(): Promise<void>
}

interface Watcher {
  readonly onMessage: (message: string) => void
  readonly onGap: () => void
}

const retryMs = 500

/**
 * Messages of a server to any number of watchers, over one connection, which is there as long as anybody watches and is
 * made again when it is lost.
 * @param connect resolves when all later messages will come; calls `onLost` when the connection ends by itself, at most once
 */
export function createSubscription(
  clock: Clock,
  connect: (onMessage: (message: string) => void, onLost: () => void) => Promise<MessageConnection>,
) {
  const watchers = new Set<Watcher>()
  let connection: MessageConnection | undefined
  let connecting: Promise<void> | undefined
  let retry: Timer | undefined

  const onMessage = (message: string) => {
    for (const watcher of watchers) watcher.onMessage(message)
  }

  const lost = () => {
    connection = undefined
    if (watchers.size > 0) retry ??= clock.timer(retryMs, again)
  }

  const again = () => {
    retry = undefined
    connecting ??= open().finally(() => (connecting = undefined))
  }

  const open = async () => {
    let isLost = false
    try {
      const made = await connect(onMessage, () => {
        isLost = true
        if (connection !== undefined) lost()
      })
      if (watchers.size === 0) return void (await made.close())
      if (isLost) return lost()
      connection = made
      for (const watcher of watchers) watcher.onGap()
    } catch {
      lost()
    }
  }

  const end = async () => {
    retry?.cancel()
    retry = undefined
    await connecting
    const made = connection
    connection = undefined
    await made?.close()
  }

  return {
    /** Resolves once messages come, or the server turned out to be away: it is tried again. */
    async watch(watcher: Watcher): Promise<() => Promise<void>> {
      const own = { ...watcher }
      watchers.add(own)
      if (connection === undefined) {
        if (retry === undefined) again()
        await connecting
      } else {
        own.onGap()
      }
      return async () => {
        watchers.delete(own)
        if (watchers.size === 0) await end()
      }
    },
    /** That messages were lost which the server had: as when one is too long for it. */
    gap() {
      for (const watcher of watchers) watcher.onGap()
    },
    async close(): Promise<void> {
      watchers.clear()
      await end()
    },
  }
}
