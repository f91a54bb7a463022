import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { open, unlink } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import type { AtomicFile } from './atomic-file.ts'
import { digestWriter } from './digest-writer.ts'
import { systemCode, writeError } from './file-error.ts'
import { cutBytes } from './file-name.ts'
import { placeFile } from './place-file.ts'
import { removeLeftovers } from './remove-leftovers.ts'
import { createFileSync, type FileSync } from './sync-file.ts'
import type { FileTarget } from './write-target.ts'

/** Creates the temporary file `.<name>.<16 hex digits>.mgpart` beside its target. */
export async function openTemporary(
  context: Context,
  path: string,
  target: FileTarget,
  spareName?: (count: number) => string,
): Promise<AtomicFile> {
  await removeLeftovers(target.folder, context.clock.now())
  const temporary = join(target.folder, temporaryName(target.name))
  const { handle, mode } = await create(temporary, target).catch((error: unknown) => {
    throw writeError(error, path)
  })
  const writer = digestWriter(handle)
  const sync = createFileSync(handle)
  let state: 'open' | 'done' = 'open'

  async function discard() {
    if (state === 'done') return
    state = 'done'
    await handle.close().catch(() => {})
    await unlink(temporary).catch(() => {})
  }
  async function orDiscard<Value>(step: Promise<Value>): Promise<Value> {
    try {
      return await step
    } catch (error) {
      await discard()
      throw writeError(error, path)
    }
  }

  return {
    isDirect: false,
    write: (chunk) => orDiscard(writer.write(chunk).then(() => sync.wrote(chunk.length))),
    async commit() {
      await orDiscard(finish(handle, sync, mode))
      let placed: string
      try {
        placed = await placeFile(context, temporary, target, path, spareName)
      } catch (error) {
        await discard()
        throw error
      }
      state = 'done'
      return { path: placed, ...writer.finish() }
    },
    discard,
  }
}

/** The name is cut so that the longest legal target still has a legal temporary name (255 bytes). */
function temporaryName(name: string): string {
  return `.${cutBytes(name, 200)}.${randomBytes(8).toString('hex')}.mgpart`
}

/** Nobody else may read the file before it is whole; what the umask allows is learned from the file itself. */
async function create(temporary: string, target: FileTarget): Promise<{ handle: FileHandle; mode: number }> {
  const { O_CREAT, O_EXCL, O_WRONLY, O_NOFOLLOW = 0 } = constants
  const handle = await open(temporary, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0o666)
  try {
    const mode = target.mode ?? (await handle.stat()).mode & 0o777
    await chmod(handle, 0o600)
    return { handle, mode }
  } catch (error) {
    await handle.close().catch(() => {})
    await unlink(temporary).catch(() => {})
    throw error
  }
}

async function finish(handle: FileHandle, sync: FileSync, mode: number): Promise<void> {
  await chmod(handle, mode)
  await sync.finish()
  await handle.close()
}

/** Some file systems keep no permissions. */
function chmod(handle: FileHandle, mode: number): Promise<void> {
  return handle.chmod(mode).catch(ignore('EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'))
}

function ignore(...codes: readonly string[]) {
  return (error: unknown) => {
    if (!codes.includes(systemCode(error) ?? '')) throw error
  }
}
