import { open, stat, unlink } from 'node:fs/promises'
import { sleep, type FileHost } from '../context.ts'
import { mayBeHeld } from '../platform.ts'
import { systemCode } from './file-error.ts'

/** A lock is held for the time of one write; one that is older is of a process that was killed. */
const staleMs = 10_000
const pollMs = 25
const maxRefusals = 12

/** Undefined when another process holds it for too long. @throws the error of the system; the signal's reason */
export async function takeLock(
  path: string,
  { platform, clock, signal, waitMs }: FileHost & { readonly signal?: AbortSignal; readonly waitMs: number },
): Promise<(() => Promise<void>) | undefined> {
  let refusals = 0
  for (let polls = Math.ceil(waitMs / pollMs); polls > 0; polls--) {
    try {
      const handle = await open(path, 'wx', 0o600)
      // The file is the lock, whatever becomes of closing it.
      await handle.close().catch(() => {})
      return () => unlink(path).catch(() => {})
    } catch (error) {
      const code = systemCode(error)
      // On Windows a file that is being removed refuses so, as does a folder that may not be written.
      const isRefused = mayBeHeld(platform, code) && ++refusals < maxRefusals
      if (code !== 'EEXIST' && !isRefused) throw error
    }
    const found = await stat(path).catch(() => undefined)
    if (found !== undefined && clock.now() - found.mtimeMs > staleMs) await unlink(path).catch(() => {})
    else await sleep(clock, pollMs, signal)
  }
  return undefined
}
