import type { Settings } from '../../config/settings.ts'
import { hasEnded } from '../../contract/video-state.ts'
import { asModelgateError } from '../../errors.ts'
import type { StoredJob } from '../../files/jobs/stored-job.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { lookUpJob } from '../../gateway/videos/look-up-job.ts'
import type { CommonOptions } from '../shared/common-options.ts'
import { changeOf } from './job-session.ts'

/** So many jobs are asked for at once. */
const atOnce = 4

export interface Refresh {
  readonly options: CommonOptions
  readonly settings: Settings
  readonly open: () => Promise<{ readonly gateway: Gateway; close(): Promise<void> }>
  readonly warn: (message: string) => void
}

/**
 * Looks up every job that has not ended, and puts on record what comes. A look-up that fails is a warning.
 * @throws the reason of the signal; what opening the gateway throws, unless there is nothing to look up
 */
export async function refreshJobs(jobs: readonly StoredJob[], refresh: Refresh): Promise<void> {
  const { open, warn } = refresh
  const waiting = placed(
    jobs.filter(({ record }) => record.id !== null && !isOver(record)),
    refresh,
  )
  if (waiting.length === 0) return
  const { gateway, close } = await open()
  const rest = waiting.values()
  const work = async () => {
    for (const job of rest) await refreshJob(gateway, job, warn)
  }
  try {
    await Promise.all(Array.from({ length: atOnce }, work))
  } finally {
    await close()
  }
}

/** The jobs of the gateway that is asked; a job of another is only told of. */
function placed(jobs: readonly StoredJob[], { options, settings, warn }: Refresh): StoredJob[] {
  const inSandbox = jobs.filter(({ record }) => record.is_sandbox)
  const outside = jobs.filter(({ record }) => !record.is_sandbox)
  if (options.sandbox) {
    if (outside.length > 0) warn(`${counted(outside)} not in the sandbox, and not looked up with --sandbox.`)
    return inSandbox
  }
  if (inSandbox.length > 0) {
    const them = inSandbox.length === 1 ? 'it' : 'them'
    warn(`${counted(inSandbox)} in the sandbox: add --sandbox to look ${them} up.`)
  }
  const configured = settings.baseUrl.value
  const here = configured?.origin
  const elsewhere = outside.filter(({ record }) => here !== undefined && originOf(record) !== here)
  for (const place of new Set(elsewhere.map(({ record }) => originOf(record)))) {
    const there = elsewhere.filter(({ record }) => originOf(record) === place)
    warn(`${counted(there)} at ${place}, and not looked up at ${here}.`)
  }
  return outside.filter((job) => !elsewhere.includes(job))
}

async function refreshJob(gateway: Gateway, job: StoredJob, warn: (message: string) => void): Promise<void> {
  const { id, kind } = job.record
  try {
    await job.update(changeOf(await lookUpJob(gateway, { id: id!, kind })))
  } catch (error) {
    if (gateway.signal.aborted) throw error
    warn(`${id}: ${asModelgateError(error, gateway.trace !== undefined).message}`)
  }
}

function isOver({ state }: StoredJob['record']): boolean {
  return state !== 'unknown' && hasEnded(state)
}

function originOf({ base_url }: StoredJob['record']): string {
  return URL.parse(base_url)?.origin ?? 'an unknown address'
}

function counted({ length }: readonly StoredJob[]): string {
  return length === 1 ? '1 job is' : `${length} jobs are`
}
