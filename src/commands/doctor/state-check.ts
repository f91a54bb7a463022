import { randomBytes } from 'node:crypto'
import { access, open, readdir, stat, statfs, unlink } from 'node:fs/promises'
import { constants } from 'node:fs'
import { dirname, join } from 'node:path'
import { rescueFolder, stateFolder } from '../../config/paths.ts'
import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { shellWord, systemCode, writeError } from '../../files/file-error.ts'
import { openJobStore, openResponseStore } from '../../files/jobs/job-store.ts'
import { logFolder } from '../../files/log/log-file.ts'
import { byteText } from '../../quantities.ts'
import { failed, failedBy, ok, warning, type Finding } from './checkup.ts'
import { hasPermissions } from '../../platform.ts'

const lowBytes = 200_000_000
const fullBytes = 1_000_000
const largeLogBytes = 500_000_000

/** Whether jobs, log and rescued results can be kept, and what is there. */
export async function checkState(context: Context, settings: Settings | undefined): Promise<Finding> {
  const folder = stateFolder(context)
  if (folder === undefined) {
    return warning(
      'There is no state folder, because no home directory is known: jobs and calls are not recorded.',
      'Set HOME or MODELGATE_STATE_DIR.',
    )
  }
  const exists = await isThere(folder)
  try {
    await tryToWrite(folder, exists)
  } catch (error) {
    return failedBy(writeError(error, folder))
  }
  const free = await freeBytes(exists ? folder : await nearestFolder(folder))
  if (free !== undefined && free < fullBytes) {
    return failed(
      'io',
      `There is no space left for ${folder}.`,
      'Free some space, or set MODELGATE_STATE_DIR.',
    )
  }
  if (!exists) return ok(`${folder}, not there yet`)
  const facts = await factsOf(context, folder, settings)
  const text = [folder, ...facts.texts].join(', ')
  if (free !== undefined && free < lowBytes)
    return warning(`${text}; ${byteText(free)} left`, 'Free some space.')
  const mode = (await stat(folder)).mode & 0o077
  if (mode !== 0 && hasPermissions(context.platform)) {
    return warning(`${text}; other users can read it`, `Run: chmod 700 ${shellWord(folder)}`)
  }
  if (facts.rescued > 0) {
    return warning(
      `${text}; ${count(facts.rescued, 'rescued result')}`,
      `See: ls ${shellWord(rescueFolder(context)!)}`,
    )
  }
  if (facts.logBytes > largeLogBytes) {
    return warning(
      text,
      'Old months of the log can be deleted; modelgate config set history metadata keeps it small.',
    )
  }
  return ok(text)
}

async function factsOf(context: Context, folder: string, settings: Settings | undefined) {
  const stores = [openJobStore(folder, context.clock), openResponseStore(folder, context.clock)]
  const lists = await Promise.all(stores.map((store) => store.list()))
  const jobs = lists.flatMap(({ jobs }) => jobs.map(({ record }) => record.state as string))
  const running = jobs.filter((state) =>
    ['pending', 'queued', 'in_progress', 'unknown'].includes(state),
  ).length
  const logBytes = await sizeOf(logFolder(folder))
  const rescued = (await readdir(rescueFolder(context)!).catch(() => [])).length
  const history = settings?.history.value ?? 'full'
  const texts = [
    `${count(running, 'job')} running`,
    history === 'off' ? 'no log (history: off)' : `log of ${byteText(logBytes)}`,
    ...lists.flatMap(({ warnings }) =>
      warnings.length === 0 ? [] : [count(warnings.length, 'damaged record')],
    ),
  ]
  return { texts, rescued, logBytes }
}

async function sizeOf(folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => [])
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(folder, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** Writes and removes a file; of a folder that is not there, only whether it could be made. @throws the system's error */
async function tryToWrite(folder: string, exists: boolean): Promise<void> {
  if (!exists) return await access(await nearestFolder(folder), constants.W_OK | constants.X_OK)
  const name = join(folder, `.doctor.${randomBytes(8).toString('hex')}.mgpart`)
  const handle = await open(name, 'wx', 0o600)
  await handle.close()
  await unlink(name)
}

async function nearestFolder(folder: string): Promise<string> {
  const above = dirname(folder)
  return above === folder || (await isThere(above)) ? above : nearestFolder(above)
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    // Something that may not be looked at is there.
    return systemCode(error) !== 'ENOENT' && systemCode(error) !== 'ENOTDIR'
  }
}

async function freeBytes(folder: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize
  } catch {
    return undefined
  }
}

function count(number: number, noun: string): string {
  return `${number === 0 ? 'no' : number} ${noun}${number === 1 ? '' : 's'}`
}
