import { realpath } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Context } from '../context.ts'
import { FileError, ModelgateError } from '../errors.ts'
import type { AtomicFile } from './atomic-file.ts'
import { shownPath, writeError } from './file-error.ts'
import { cutBytes } from './file-name.ts'
import { makeFolder } from './make-folder.ts'
import { numberedName } from './numbered-name.ts'
import { openTemporary } from './temporary-file.ts'

/** The longest part of a name that is kept, so that time and number still fit into 255 bytes. */
const longestName = 200

/**
 * Opens a file in the rescue folder for a result that was paid for and cannot be written to `path`. Only the user may
 * read it; its name is the time and the name that the result was to have.
 * @param folder undefined when the machine has no place for one
 * @param reason why it cannot be written where it belongs
 * @throws FileError with the code of `reason`, which tells that the rescue failed as well; so do the file's own methods
 */
export async function openRescueFile(
  context: Context,
  folder: string | undefined,
  path: string,
  reason: ModelgateError,
): Promise<AtomicFile> {
  const attempt = async <Value>(step: () => Promise<Value>): Promise<Value> => {
    try {
      return await step()
    } catch (error) {
      throw notRescued(reason, error instanceof ModelgateError ? error : writeError(error, folder ?? ''))
    }
  }
  const file = await attempt(async () => {
    if (folder === undefined) throw noFolder()
    await makeFolder(folder)
    const time = new Date(context.clock.now()).toISOString().replaceAll(/[-:]|\.\d+Z$/g, '')
    const name = `${time}-${cutBytes(basename(path), longestName)}`
    const target = { kind: 'file', folder: await realpath(folder), name, mode: 0o600, force: false } as const
    const spareName = (count: number) => numberedName(name, count)
    return await openTemporary(context, join(folder, name), target, { spareName })
  })
  return {
    isDirect: false,
    write: (chunk) => attempt(() => file.write(chunk)),
    async commit() {
      const written = await attempt(() => file.commit())
      return { ...written, rescued: rescued(reason, written.path) }
    },
    commitDamaged: () => attempt(() => file.commitDamaged()),
    discard: () => file.discard(),
  }
}

function rescued({ code, message, facts }: ModelgateError, path: string): FileError {
  return new FileError(code, `${message} It is kept in ${shownPath(path, Infinity)} instead.`, {
    ...facts,
    phase: 'output',
    billed: 'yes',
    rescued: [path],
  })
}

function notRescued({ code, message, facts }: ModelgateError, failure: ModelgateError): FileError {
  return new FileError(code, `${message} It could not be rescued either: ${failure.message}`, {
    ...facts,
    phase: 'output',
    billed: 'yes',
  })
}

function noFolder(): FileError {
  return new FileError('no_state_folder', 'There is no folder for it, because no home folder is known.')
}
