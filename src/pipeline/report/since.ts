import { basename } from 'node:path'
import { UsageError } from '../../errors.ts'
import { decodeText, invalidTextClause } from '../../files/input-file.ts'
import type { Lock, OutputFacts } from '../lock/lock-block.ts'
import { parseLock } from '../lock/project-lock.ts'
import { findBlock, type FoundBlock } from '../plan/assess.ts'
import type { Assessment, ProjectState } from '../plan/project-state.ts'
import { findResult } from '../plan/result-files.ts'
import type { OpenProject } from '../run/project.ts'
import { maxStateText } from '../state-folder.ts'
import { findInGit, git, type GitAnswer } from '../store/git-objects.ts'

/** The lock of another commit, with which a report compares. */
export interface Since {
  /** The commit as the user named it. */
  readonly name: string
  /** The id of the commit whose lock it is: where the branches parted. */
  readonly commit: string
  readonly project: ProjectState
  readonly warnings: readonly string[]
}

/**
 * Reads the lock of a project as it was where HEAD and another commit parted, as in `git diff NAME...HEAD`: what was done on
 * the other branch meanwhile is not a change of this one.
 * @param name of a commit as Git takes it: `main`, `origin/main`, `HEAD~3`
 * @throws UsageError `usage`, `unknown_id`; `lock_invalid`, `lock_conflict`, `other_version` for that lock
 */
export async function readSince(project: OpenProject, name: string): Promise<Since> {
  const { outputFolder } = project.manifest.project
  const warnings: string[] = []
  // Git would take it for an option; no branch or tag begins so.
  const named = name.startsWith('-') ? undefined : await resolve(outputFolder, `${name}^{commit}`, name)
  if (named === undefined) throw unknownCommit(name)
  const base = await git(outputFolder, ['merge-base', named, 'HEAD'])
  const commit = base.code === 0 ? idIn(base)! : named
  if (base.code !== 0) {
    warnings.push(
      `Where HEAD and ${name} parted is not known here: compared with ${name} itself. In a shallow clone, git fetch --unshallow gets the history.`,
    )
  }
  const lock = await lockAt(project, commit, name)
  if (lock === undefined) warnings.push(`${lockName(project)} is not in ${name}: every asset is new.`)
  return { name, commit, project: project.with({ lock: lock ?? new Map() }), warnings }
}

async function lockAt(project: OpenProject, commit: string, name: string): Promise<Lock | undefined> {
  const { outputFolder } = project.manifest.project
  const object = await resolve(outputFolder, `${commit}:./${lockName(project)}`, name)
  if (object === undefined) return undefined
  const { code, stdout, message } = await git(outputFolder, ['cat-file', 'blob', object], maxStateText)
  if (code !== 0) throw gitFailed(name, message)
  const file = `${commit.slice(0, 12)}:${lockName(project)}`
  const hint = 'It is the lock that --since compares with: name another commit.'
  const { text, invalid } = decodeText(stdout)
  if (text === undefined) {
    const message = `${file}: the lock ${invalidTextClause(invalid)}.`
    throw new UsageError(message, { code: 'lock_invalid', hint })
  }
  try {
    return parseLock(text, file)
  } catch (error) {
    throw error instanceof UsageError && error.code !== 'other_version' ? error.amend({ hint }) : error
  }
}

/** It lies in the folder in which Git is called. */
function lockName({ manifest }: ProjectState): string {
  return basename(manifest.project.lockPath)
}

/** The id of an object; undefined where there is none. @throws UsageError `usage` */
async function resolve(folder: string, object: string, name: string): Promise<string | undefined> {
  const answer = await git(folder, ['rev-parse', '--verify', '--quiet', object])
  if (answer.code === 0) return idIn(answer)
  // Of a branch that is younger than `main@{9}` asks for, Git says nothing at all.
  if (answer.code === 1 || answer.message === '') return undefined
  throw gitFailed(name, answer.message)
}

/** A revision such as `^main` has no id. */
function idIn({ stdout }: GitAnswer): string | undefined {
  return /^[0-9a-f]{40,64}$/.exec(stdout.toString().trim())?.[0]
}

function unknownCommit(name: string): UsageError {
  return new UsageError(`There is no commit ${JSON.stringify(name)} here.`, {
    code: 'unknown_id',
    hint: 'Fetch its branch first: git fetch origin BRANCH, then --since FETCH_HEAD. With actions/checkout: fetch-depth: 0.',
  })
}

function gitFailed(name: string, message: string): UsageError {
  return new UsageError(`Git cannot read the commit ${JSON.stringify(name)}: ${message}`, {
    hint: '--since needs Git, and a manifest in a Git repository.',
  })
}

export function foundThen({ project }: Since, { instance, block, keys }: Assessment): FoundBlock | null {
  return findBlock(instance, block === null ? keys : [block.key, ...keys], project)
}

/**
 * The path of the bytes of an output of that time: from the results, from what was put aside, from the files that are there,
 * else from Git; undefined where they are nowhere.
 */
export async function bytesThen(
  { project, commit }: Since,
  key: string,
  facts: OutputFacts,
): Promise<string | undefined> {
  const own = await findResult(key, { outputs: [facts] }, project)
  // In a folder that cannot be written to there is a report all the same, without the picture.
  return (
    own?.[0] ??
    (await findInGit(project.manifest.project, project.replaced, facts, [commit]).catch(() => undefined))
  )
}
