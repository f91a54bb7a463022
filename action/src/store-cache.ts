import { isFeatureAvailable, restoreCache, saveCache } from '@actions/cache'
import { error, info, warning } from '@actions/core'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { workspace, type Inputs } from './inputs.ts'

/** What is kept of `.modelgate` from run to run, and how it is called. */
export interface StoreCache {
  /** Absolute. */
  readonly folder: string
  readonly prefix: string
  /** Each save has a name of its own: what is saved is never changed, and the newest with the prefix is restored. */
  readonly key: string
}

/** @param folder `.modelgate`, absolute and in the checkout */
export function storeCache(
  { cacheKey, shard, sandbox }: Pick<Inputs, 'cacheKey' | 'shard' | 'sandbox'>,
  folder: string,
): StoreCache {
  const { GITHUB_RUN_ID, GITHUB_RUN_ATTEMPT, GITHUB_JOB, GITHUB_ACTION } = process.env
  const place = createHash('sha256').update(pathOf(folder)).digest('hex').slice(0, 8)
  const part = shard === null ? 'all' : `${shard.index}-of-${shard.total}`
  const prefix = `${cacheKey}-${sandbox ? 'sandbox-' : ''}${place}-${part}-`
  const step = [GITHUB_RUN_ID, GITHUB_RUN_ATTEMPT, GITHUB_JOB, GITHUB_ACTION].join('-')
  return { folder, prefix, key: `${prefix}${step.replaceAll(/[^\w.-]/g, '_')}` }
}

/** From the root of the checkout: another machine may have it elsewhere. */
function pathOf(folder: string): string {
  return relative(workspace(), folder).replaceAll('\\', '/')
}

/** A path is taken for a pattern. */
function patternOf(folder: string): string {
  return `./${pathOf(folder).replaceAll(/[[*?]/g, '[$&]')}`
}

/**
 * Brings back what an earlier run has left, unless something is there, which is newer.
 * @returns whether something was restored
 * @throws Error when there may be something that could not be restored
 */
export async function restoreStore({ folder, prefix, key }: StoreCache): Promise<boolean> {
  if (existsSync(folder)) {
    info(`${pathOf(folder)} is there already: nothing is restored.`)
    return false
  }
  if (!isFeatureAvailable()) {
    warning('There is no cache service here: the next run will not know what this one leaves.')
    return false
  }
  let isFailed = false
  const { write } = process.stdout
  // The library tells a failure to the log alone, and returns what it returns where there is no cache.
  process.stdout.write = function (this: typeof process.stdout, text: string | Uint8Array, ...rest: never[]) {
    isFailed ||= /^::(?:warning|error)::Failed to restore/m.test(String(text))
    return write.call(this, text, ...rest)
  } as typeof write
  try {
    const found = await restoreCache([patternOf(folder)], key, [prefix])
    if (isFailed) throw new Error('What earlier runs have left could not be restored.')
    return found !== undefined
  } finally {
    process.stdout.write = write
  }
}

/** Saves what is there, unless it is as it was. A failure is only told: the run is over. */
export async function saveStore({ folder, key }: StoreCache, before: string): Promise<void> {
  if (!existsSync(folder) || fingerprint(folder) === before || !isFeatureAvailable()) return
  if ((await saveCache([patternOf(folder)], key).catch(() => -1)) >= 0) return
  error(
    'What this run has made could not be saved for the next one, which may make and pay for it again. ' +
      'Commit or download the outputs before you run it.',
  )
}

/** Stands for the names, sizes and times of the files below a folder. */
export function fingerprint(folder: string): string {
  const names = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : []
  const hash = createHash('sha256')
  for (const name of names.toSorted()) {
    const { size, mtimeMs } = statSync(join(folder, name))
    hash.update(`${name}\0${size}\0${mtimeMs}\0`)
  }
  return hash.digest('hex')
}
