import { existsSync, lstatSync, mkdirSync, realpathSync } from 'node:fs'
import { lstat, stat, unlink } from 'node:fs/promises'
import { basename, join, sep } from 'node:path'
import type { FileContext, FileHost } from '../../context.ts'
import { FileError, ModelgateError } from '../../errors.ts'
import { cannotWrite, shownPath, systemCode, writeError, writing } from '../../files/file-error.ts'
import { leadTo, nextCommand } from '../../files/next-command.ts'
import { linkOrReserve, makeFolder, renameFile } from '../../files/write-target.ts'
import { isInnerPath, type OutputFacts } from '../lock/lock-block.ts'
import type { Project } from '../project.ts'
import { copyVerified, digestOfFile, isTextType, temporaryPath } from './file-digest.ts'
import type { Replaced } from './blob-store.ts'

export interface Placing {
  readonly source: string
  /** Of a text as it is with LF. */
  readonly sha256: string
  readonly isText: boolean
  readonly path: string
  /** Digests that may be overwritten. Without one, nothing may be there but the same bytes. */
  readonly mayReplace: readonly string[]
}

/**
 * The file appears whole or not at all, and is a copy. One that nobody said may be replaced is left as it is.
 * @throws ModelgateError `output_changed` (exit 13) when another file is there; FileError `result_lost` when the source
 * has other bytes, `bad_file_name` when a link leads out of the output folder
 */
export async function placeOutput(context: FileContext, project: Project, placing: Placing): Promise<void> {
  const { source, sha256, path } = placing
  const final = await makePlace(project, path)
  if ((await digestIfAllowed(final, placing)) === sha256) return
  const temporary = temporaryPath(final)
  try {
    // The permissions of the file that is replaced, if there is one.
    const mode = (await stat(final).catch(() => undefined))?.mode
    await copyVerified(source, temporary, placing, mode === undefined ? undefined : mode & 0o777)
    // Again, because copying takes its time, and someone may be editing.
    const found = await digestIfAllowed(final, placing)
    if (found === sha256) return
    // The folder is not synced: a name that is lost with the power is restored.
    await (found === undefined ? linkOrReserve : renameFile)(context, temporary, final)
  } catch (error) {
    throw systemCode(error) === 'EEXIST' ? outputChanged(path) : writeError(error, path)
  } finally {
    await unlink(temporary).catch(() => {})
  }
}

export async function isInPlace({ outputFolder }: Project, { path, sha256, media_type }: OutputFacts) {
  return (await digestOfFile(join(outputFolder, path), isTextType(media_type)))?.sha256 === sha256
}

/** Unless somebody has changed it since, or a link leads out of the output folder to it. Its bytes stay in the store. */
export async function removeOutput(project: Project, store: Pick<Replaced, 'putAside'>, facts: OutputFacts) {
  if (!(await isInPlace(project, facts)) || !isInOutputFolder(project, facts.path)) return
  const file = join(project.outputFolder, facts.path)
  await store.putAside(file)
  await unlink(file)
}

/** Whether a path stays in the output folder when links are followed. Its folder must be there. */
export function isInOutputFolder({ outputFolder }: Project, path: string): boolean {
  try {
    return findPlace(outputFolder, path, false) !== undefined
  } catch {
    return false
  }
}

/** Without a copy: one that differs in case alone would be removed with its old name. @returns whether it was moved */
export async function moveOutput(
  host: FileHost,
  project: Project,
  { from, path, sha256, isText }: Pick<Placing, 'sha256' | 'isText' | 'path'> & { readonly from: string },
): Promise<boolean> {
  if (!isInnerPath(from)) throw outsideFolder(from, from)
  if ((await digestOfFile(join(project.outputFolder, from), isText))?.sha256 !== sha256) return false
  const [here, there] = [await makePlace(project, from), await makePlace(project, path)]
  return await writing(path, async () => {
    const [old, other] = [await lookAt(here), await lookAt(there)]
    if (other !== undefined && (other.ino !== old?.ino || other.dev !== old.dev)) return false
    await renameFile(host, here, there)
    return true
  })
}

/** Not what a link leads to. As big integers: on Windows two files can have numbers that are the same once rounded. */
async function lookAt(path: string) {
  return await lstat(path, { bigint: true }).catch((error: unknown) => {
    if (systemCode(error) !== 'ENOENT') throw error
  })
}

async function digestIfAllowed(final: string, { sha256, isText, path, mayReplace }: Placing) {
  const found = (await digestOfFile(final, isText))?.sha256
  if (found === undefined || found === sha256 || mayReplace.includes(found)) return found
  throw outputChanged(path)
}

/** Before it is paid for: a link on the way may lead out of the project. At once, so that requests keep their order. */
export function checkPlace({ outputFolder }: Project, path: string): void {
  if (existsSync(outputFolder)) findPlace(outputFolder, path, false)
}

async function makePlace({ outputFolder, isSandbox }: Project, path: string): Promise<string> {
  if (isSandbox) {
    await makeFolder(outputFolder).catch(cannotWrite(path))
  }
  return findPlace(outputFolder, path, true)!
}

/** @returns undefined where a folder is missing, unless it `isMade`. @throws FileError for a link that leads outside */
function findPlace(outputFolder: string, path: string, isMade: boolean): string | undefined {
  if (!isInnerPath(path)) throw outsideFolder(path, path)
  return writing(path, () => {
    const root = realpathSync(outputFolder)
    let folder = root
    for (const name of path.split('/').slice(0, -1)) {
      const next = join(folder, name)
      if (lstatSync(next, { throwIfNoEntry: false }) === undefined) {
        if (!isMade) return undefined
        mkdirSync(next, { recursive: true })
      }
      folder = followLink(root, next, path)
    }
    const final = join(folder, basename(path))
    const isLink = lstatSync(final, { throwIfNoEntry: false })?.isSymbolicLink() === true
    // The file that a link leads to is the output; one that leads nowhere is in the way.
    return isLink ? followLink(root, final, path) : final
  })
}

function followLink(root: string, place: string, path: string): string {
  const real = lstatSync(place).isSymbolicLink() ? realpathSync(place) : place
  if (!isBelow(root, real)) throw outsideFolder(path, place)
  return real
}

/** Also not in the folders of Git and of this program. */
function isBelow(root: string, real: string): boolean {
  return real.startsWith(`${root}${sep}`) && isInnerPath(real.slice(root.length + 1).replaceAll(sep, '/'))
}

function outputChanged(path: string): ModelgateError {
  const message = `${shownPath(path)} differs from what was made; it is kept.`
  const hint = 'Keep it as the result with run adopt, or see what run would do: '
  const look = leadTo(hint, nextCommand(['modelgate', 'run', '--plan']))
  return new ModelgateError('outdated', 'output_changed', message, { phase: 'output', ...look })
}

function outsideFolder(path: string, place: string): FileError {
  const message = `${shownPath(path)} cannot be written: ${shownPath(place)} leads out of the folder of the manifest.`
  return new FileError('bad_file_name', message, {
    hint: 'Replace the link by a folder, or give another path in "out".',
  })
}
