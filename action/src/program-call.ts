import { warning } from '@actions/core'
import { existsSync, readFileSync } from 'node:fs'
import type { Inputs, Mode } from './inputs.ts'

/**
 * The words of the call. Values cannot be taken for flags, nor names of jobs.
 * @param mode what is really done
 */
export function runArguments(inputs: Inputs, mode: Exclude<Mode, 'setup'>): string[] {
  const { jobs, maxCreates, maxCost, timeout, shard } = inputs
  const makes = mode === 'generate' || mode === 'plan'
  const flags = [
    `--${mode}`,
    ...manifestFlags(inputs),
    ...(makes && maxCreates !== '' ? [`--max-creates=${maxCreates}`] : []),
    ...(makes && maxCost !== '' ? [`--max-cost=${maxCost}`] : []),
    ...(timeout === '' ? [] : [`--timeout=${timeout}`]),
    ...(shard === null ? [] : [`--shard=${shard.index}/${shard.total}`]),
  ]
  return ['run', ...flags, ...(jobs.length === 0 ? [] : ['--', ...jobs])]
}

/** Which manifest it is. */
export function manifestFlags({ manifest, sandbox }: Inputs): string[] {
  return [...(manifest === '' ? [] : [`--file=${manifest}`]), ...(sandbox ? ['--sandbox'] : [])]
}

/**
 * The environment of the program, without what belongs to this action: the inputs, and the tokens for GitHub's services.
 * @param key to the gateway; empty where nothing is generated
 */
export function programEnvironment(key: string): NodeJS.ProcessEnv {
  const own = /^(?:INPUT_|STATE_|ACTIONS_(?:RUNTIME|RESULTS|CACHE|ID_TOKEN)|GITHUB_(?:ENV|PATH|STATE)$)/
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name)))
  return { ...env, CI: 'true', ...(key === '' ? {} : { MODELGATE_API_KEY: key }) }
}

/**
 * What may cost money, unless the run is on behalf of somebody who must not spend it: then earlier results are restored,
 * and the rest is only named. Neither forks nor Dependabot get secrets, and with one their prompts would be paid for.
 */
export function allowedMode({ mode, sandbox }: Pick<Inputs, 'mode' | 'sandbox'>): Mode {
  if (mode !== 'generate' || sandbox || !isForeign()) return mode
  warning(
    'Nothing is generated for a pull request of a fork or of Dependabot: earlier results are restored, and what is missing is named.',
  )
  return 'frozen'
}

/** The commit that a pull request is compared with; undefined for other events, also where the base itself is checked out. */
export function baseCommit(): string | undefined {
  return process.env['GITHUB_EVENT_NAME'] === 'pull_request' ? readEvent().pull_request?.base?.sha : undefined
}

function isForeign(): boolean {
  const { GITHUB_REPOSITORY, GITHUB_ACTOR } = process.env
  if (GITHUB_ACTOR === 'dependabot[bot]') return true
  const event = readEvent()
  // Of a deleted fork there is none.
  const heads = [event.pull_request?.head.repo, event.workflow_run?.head_repository]
  return heads.some((head) => head !== undefined && head?.full_name !== GITHUB_REPOSITORY)
}

function readEvent(): Event {
  const { GITHUB_EVENT_PATH } = process.env
  if (!GITHUB_EVENT_PATH || !existsSync(GITHUB_EVENT_PATH)) return {}
  return JSON.parse(readFileSync(GITHUB_EVENT_PATH, 'utf8')) as Event
}

interface Repository {
  readonly full_name: string
}
interface Event {
  readonly pull_request?: {
    readonly head: { readonly repo: Repository | null }
    readonly base?: { readonly sha: string }
  }
  readonly workflow_run?: { readonly head_repository: Repository | null }
}
