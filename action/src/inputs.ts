import { getInput, setSecret } from '@actions/core'
import { existsSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'

export const modes = ['frozen', 'check', 'plan', 'generate', 'setup'] as const
export type Mode = (typeof modes)[number]

/** What `with:` of the step says, checked. */
export interface Inputs {
  readonly mode: Mode
  /** As it was given; empty for the nearest one. */
  readonly manifest: string
  readonly jobs: readonly string[]
  /** Absolute. */
  readonly cwd: string
  readonly maxCreates: string
  readonly maxCost: string
  readonly timeout: string
  readonly shard: { readonly index: number; readonly total: number } | null
  readonly sandbox: boolean
  readonly cache: boolean
  readonly cacheKey: string
  /** Empty for none. */
  readonly report: string
  readonly version: string
  readonly executable: string
  readonly isAttested: boolean
  readonly repository: string
  readonly mirror: string
}

export interface Secrets {
  /** To the gateway; empty if there is none. */
  readonly key: string
  /** To GitHub. */
  readonly token: string
}

/** Masks the key before anything else is printed, and takes secrets from the environment that other programs inherit. */
export function takeSecrets(): Secrets {
  const { env } = process
  const key = getInput('api-key') || (env['MODELGATE_API_KEY'] ?? '').trim()
  const token = getInput('token')
  for (const secret of [key, token]) if (secret !== '') setSecret(secret)
  for (const name of ['INPUT_API-KEY', 'INPUT_TOKEN', 'MODELGATE_API_KEY']) delete env[name]
  return { key, token }
}

/** The root of the checkout. */
export function workspace(): string {
  return resolve(process.env['GITHUB_WORKSPACE'] || process.cwd())
}

/** A folder of this step alone, which the runner empties before and after a job. */
export function temporary(): string {
  const { RUNNER_TEMP, GITHUB_ACTION, GITHUB_RUN_ATTEMPT } = process.env
  const step = `modelgate-${GITHUB_ACTION ?? ''}-${GITHUB_RUN_ATTEMPT ?? ''}`.replaceAll(/[^\w-]/g, '_')
  const folder = join(RUNNER_TEMP || tmpdir(), step)
  mkdirSync(folder, { recursive: true })
  return folder
}

/** @throws Error naming everything that is wrong with the inputs */
export function readInputs(): Inputs {
  const problems: string[] = []
  const text = (name: string, pattern = /^[^\0-\x1f]*$/, rule = 'one line of text') => {
    const value = getInput(name)
    if (!pattern.test(value))
      problems.push(`${name} must be ${rule}, not ${JSON.stringify(value.slice(0, 60))}.`)
    return value
  }
  const choice = <Word extends string>(name: string, words: readonly Word[]): Word => {
    const value = getInput(name) || words[0]!
    const known = words.find((word) => word === value.toLowerCase())
    if (known === undefined)
      problems.push(`${name} must be ${words.join(', ')}, not ${JSON.stringify(value.slice(0, 60))}.`)
    return known ?? words[0]!
  }
  const inputs: Inputs = {
    mode: choice('mode', modes),
    manifest: text('manifest'),
    jobs: getInput('jobs')
      .split(/\r?\n/)
      .map((line) => line.trim())
      .filter((line) => line !== ''),
    cwd: resolve(workspace(), text('working-directory')),
    maxCreates: text('max-creates'),
    maxCost: text('max-cost'),
    timeout: text('timeout'),
    shard: shardOf(
      text('shard', /^$|^[1-9]\d{0,4}\/[1-9]\d{0,4}$/, 'a part and the number of parts, such as 2/5'),
    ),
    sandbox: choice('sandbox', ['false', 'true']) === 'true',
    cache: choice('cache', ['true', 'false']) === 'true',
    cacheKey: text('cache-key', /^$|^[\w.-]{1,100}$/, 'letters, digits, ".", "_" and "-"') || 'modelgate',
    report: text('report', /^$|^[\w][\w .-]{0,99}$/, 'a file name without an ending'),
    version: text('version', /^[\w.*^~<>=| +-]{0,100}$/, 'a version, a range or latest').replace(
      /^v(?=\d)/,
      '',
    ),
    executable: text('executable'),
    isAttested: choice('attestation', ['verify', 'skip']) === 'verify',
    repository: text('repository', /^$|^[\w-]+\/[\w.-]+$/, 'an owner and a name') || 'modelgate/modelgate',
    mirror: text(
      'mirror',
      /^$|^https:\/\/\S+$|^http:\/\/(?:127\.0\.0\.1|localhost)[:/]\S+$/,
      'an https address',
    ),
  }
  if (problems.length === 0 && !existsSync(inputs.cwd)) {
    problems.push(`working-directory: there is no folder ${inputs.cwd}.`)
  }
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return inputs
}

function shardOf(text: string): Inputs['shard'] {
  const [index = 0, total = 0] = text.split('/').map(Number)
  return text === '' ? null : { index, total }
}

/**
 * `.modelgate` beside the manifest, in which runs leave what they know.
 * @returns its absolute path; undefined where there is no manifest, or it is not in the checkout
 */
export function stateFolder({ cwd, manifest }: Pick<Inputs, 'cwd' | 'manifest'>): string | undefined {
  const path = manifest === '' ? nearestManifest(cwd) : resolve(cwd, manifest)
  if (path === undefined || !existsSync(path)) return undefined
  const folder = join(dirname(path), '.modelgate')
  return relative(workspace(), folder).startsWith('..') ? undefined : folder
}

function nearestManifest(folder: string): string | undefined {
  const path = join(folder, 'modelgate.yaml')
  if (existsSync(path)) return path
  const parent = dirname(folder)
  return parent === folder || folder === workspace() ? undefined : nearestManifest(parent)
}
