import { constants } from 'node:fs'
import { access, readdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { rescueFolder, stateFolder } from '../../config/paths.ts'
import type { Context } from '../../context.ts'
import { shellWord, systemCode, writeError } from '../../files/file-error.ts'
import { isFinal } from '../../contract/video-state.ts'
import { JobStore } from '../../files/calls/job-store.ts'
import { callsFolder } from '../../files/calls/call-book.ts'
import { hasPermissions } from '../../platform.ts'
import { byteText, counted } from '../../quantities.ts'
import { failed, failedBy, ok, warning, type Finding } from './finding.ts'

const lowBytes = 200_000_000
const fullBytes = 1_000_000
const largeLogBytes = 500_000_000

/** Whether jobs, log and rescued results can be kept, and what is there. */
export async function checkState(context: Context): Promise<Finding> {
  const folder = stateFolder(context)
  if (folder === undefined) {
    return warning(
      'There is no state folder, because no home directory is known: jobs and calls are not recorded.',
      'Set HOME or MODELGATE_STATE_DIR.',
    )
  }
  const existing = await nearestThatExists(folder)
  try {
    await access(existing, constants.W_OK | constants.X_OK)
  } catch (error) {
    return failedBy(writeError(error, folder))
  }
  const free = await statfs(existing).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => Infinity,
  )
  if (free < fullBytes) {
    const remedy = 'Free some space, or set MODELGATE_STATE_DIR.'
    return failed('io', `There is no space left for ${folder}.`, remedy)
  }
  if (existing !== folder) return ok(`${folder}, not there yet`)
  const calls = callsFolder(folder)
  const logBytes = (await sizeOf(calls)) + (await sizeOf(join(calls, 'words')))
  const text = [folder, ...(await jobTexts(context, folder)), `log of ${byteText(logBytes)}`].join(', ')
  if (free < lowBytes) return warning(`${text}; ${byteText(free)} left`, 'Free some space.')
  const { mode } = await stat(folder)
  if ((mode & 0o077) !== 0 && hasPermissions(context.platform)) {
    return warning(`${text}; other users can read it`, `Run: chmod 700 ${shellWord(folder)}`)
  }
  const rescues = rescueFolder(context)!
  const rescued = (await readdir(rescues).catch(() => [])).length
  if (rescued > 0)
    return warning(`${text}; ${count(rescued, 'rescued result')}`, `See: ls ${shellWord(rescues)}`)
  if (logBytes > largeLogBytes) {
    return warning(text, 'modelgate log clear --before 30d forgets old calls.')
  }
  return ok(text)
}

async function jobTexts(context: Context, folder: string): Promise<string[]> {
  const { jobs, warnings } = await new JobStore(folder, context.clock).list()
  const running = jobs.filter(({ record: { state } }) => !isFinal(state))
  return [
    `${count(running.length, 'job')} running`,
    ...(warnings.length === 0 ? [] : [count(warnings.length, 'damaged record')]),
  ]
}

/** The bytes of the files of a folder. */
async function sizeOf(folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => [])
  const files = await Promise.allSettled(names.map((name) => stat(join(folder, name))))
  return files.reduce(
    (sum, file) => sum + (file.status === 'fulfilled' && file.value.isFile() ? file.value.size : 0),
    0,
  )
}

async function nearestThatExists(path: string): Promise<string> {
  const above = dirname(path)
  const isThere = await stat(path).then(
    () => true,
    // Something that may not be looked at is there.
    (error: unknown) => !['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? ''),
  )
  return isThere || above === path ? path : nearestThatExists(above)
}

function count(number: number, noun: string): string {
  return counted(number, noun).replace(/^0/, 'no')
}
