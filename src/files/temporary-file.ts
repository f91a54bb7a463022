import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { open, unlink } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Context } from '../context.ts'
import { ModelgateError } from '../errors.ts'
import type { AtomicFile, WrittenFile } from './atomic-file.ts'
import { digestWriter } from './digest-writer.ts'
import { systemCode, writeError } from './file-error.ts'
import { cutBytes } from './file-name.ts'
import { damagedName, numberedName } from './numbered-name.ts'
import { placeFile } from './place-file.ts'
import { removeLeftovers } from './remove-leftovers.ts'
import { createFileSync } from './sync-file.ts'
import type { FileTarget } from './write-target.ts'

export interface TemporaryOptions {
  /** Other names for the file when its own is taken, counted from 2. */
  readonly spareName?: ((count: number) => string) | undefined
  /**
   * Takes over when the system refuses to go on: gets everything that has been written, and gives the file that the
   * rest is written to. Without it what was written is given up.
   */
  readonly takeOver?:
    | ((content: AsyncIterable<Uint8Array>, reason: ModelgateError) => Promise<AtomicFile>)
    | undefined
}

/** Creates the temporary file `.<name>.<16 hex digits>.mgpart` beside its target. */
export async function openTemporary(
  context: Context,
  path: string,
  target: FileTarget,
  { spareName, takeOver }: TemporaryOptions = {},
): Promise<AtomicFile> {
  await removeLeftovers(target.folder, context.clock.now())
  const temporary = join(target.folder, temporaryName(target.name))
  const { handle, mode } = await create(temporary, target).catch((error: unknown) => {
    throw writeError(error, path)
  })
  const writer = digestWriter(handle)
  const sync = createFileSync(handle)
  let state: 'open' | 'done' = 'open'
  let successor: AtomicFile | undefined

  async function discard() {
    if (state === 'done') return
    state = 'done'
    await handle.close().catch(() => {})
    await unlink(temporary).catch(() => {})
  }
  async function handOver(error: unknown): Promise<AtomicFile> {
    const reason = error instanceof ModelgateError ? error : writeError(error, path)
    try {
      if (takeOver === undefined) throw reason
      return (successor = await takeOver(readBack(handle, writer.bytes), reason))
    } finally {
      await discard()
    }
  }

  async function commitAs(
    final: FileTarget,
    finalPath: string,
    spare: ((count: number) => string) | undefined,
  ): Promise<WrittenFile> {
    await chmod(handle, mode)
    await sync.finish()
    const placed = await placeFile(context, temporary, final, finalPath, spare)
    state = 'done'
    // Last, because until then what was written can be read back. It is on the disk by now: closing adds nothing.
    await handle.close().catch(() => {})
    return { path: placed, ...writer.finish() }
  }

  return {
    isDirect: false,
    async write(chunk) {
      if (successor !== undefined) return successor.write(chunk)
      try {
        await writer.write(chunk)
      } catch (error) {
        return (await handOver(error)).write(chunk)
      }
      sync.wrote(chunk.length)
    },
    async commit() {
      if (successor !== undefined) return successor.commit()
      try {
        return await commitAs(target, path, spareName)
      } catch (error) {
        return (await handOver(error)).commit()
      }
    },
    async commitDamaged() {
      if (successor !== undefined) return successor.commitDamaged()
      const name = damagedName(target.name)
      try {
        const other = { ...target, name, force: false }
        return await commitAs(other, join(dirname(path), name), (count) => numberedName(name, count))
      } catch (error) {
        return (await handOver(error)).commitDamaged()
      }
    },
    async discard() {
      await successor?.discard()
      await discard()
    },
  }
}

/** The name is cut so that the longest legal target still has a legal temporary name (255 bytes). */
function temporaryName(name: string): string {
  return `.${cutBytes(name, 200)}.${randomBytes(8).toString('hex')}.mgpart`
}

/** Nobody else may read the file before it is whole; what the umask allows is learned from the file itself. */
async function create(temporary: string, target: FileTarget): Promise<{ handle: FileHandle; mode: number }> {
  const { O_CREAT, O_EXCL, O_RDWR, O_NOFOLLOW = 0 } = constants
  const handle = await open(temporary, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW, target.mode ?? 0o666)
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

/** The first bytes of a file, also of one that has no name any more. The memory of a piece is used again for the next. */
async function* readBack(handle: FileHandle, bytes: number): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafe(Math.min(bytes, 1_048_576))
  for (let at = 0; at < bytes;) {
    const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, bytes - at), at)
    if (bytesRead === 0) throw new Error('what had been written is gone')
    yield buffer.subarray(0, bytesRead)
    at += bytesRead
  }
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
