import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { sleep } from '../context.ts'
import type { Context } from '../context.ts'
import type { AtomicFile } from './atomic-file.ts'
import { digestWriter } from './digest-writer.ts'
import { systemCode, writeError } from './file-error.ts'

/** How often a named pipe is asked whether its reader has come. */
const readerPollMs = 50

/** Opens a pipe or device. Waits for the reader of a named pipe, as a shell does; Ctrl-C ends that. */
export async function openDirectly(context: Context, path: string, location: string): Promise<AtomicFile> {
  const handle = await openForReader(context, path, location)
  const writer = digestWriter(handle)
  let closed = false
  const close = async () => {
    if (!closed) await handle.close()
    closed = true
  }
  const refused = async (error: unknown) => {
    await close().catch(() => {})
    return writeError(error, path)
  }
  const commit = async () => {
    await close().catch(async (error: unknown) => {
      throw await refused(error)
    })
    return { path, ...writer.finish() }
  }
  return {
    isDirect: true,
    async write(chunk) {
      await writer.write(chunk).catch(async (error: unknown) => {
        throw await refused(error)
      })
    },
    commit,
    commitDamaged: commit,
    discard: () => close().catch(() => {}),
  }
}

async function openForReader(context: Context, path: string, location: string): Promise<FileHandle> {
  const nonblocking = constants.O_NONBLOCK ?? 0
  for (;;) {
    try {
      // Opening a named pipe would otherwise block a thread, and with it the end of the program, until a reader comes.
      const probe = await open(location, constants.O_WRONLY | nonblocking)
      try {
        return await open(location, constants.O_WRONLY)
      } finally {
        await probe.close()
      }
    } catch (error) {
      if (systemCode(error) !== 'ENXIO') throw writeError(error, path)
      await sleep(context.clock, readerPollMs, context.signal)
    }
  }
}
