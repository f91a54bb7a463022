import { basename } from 'node:path'
import { UsageError } from '../../errors.ts'
import { parseLock, type OutputFacts } from '../lock/lock-block.ts'
import { findBlock, type FoundBlock } from '../plan/assess.ts'
import type { Assessment, ProjectState } from '../plan/project-state.ts'
import { findResult } from '../plan/result-files.ts'
import type { OpenProject } from '../run/project.ts'
import { maxStateText } from '../project.ts'
import { git, gitObject } from '../store/blob-store.ts'

/** The lock of another commit, with which a report compares. */
export interface Since {
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
  const { outputFolder, lockPath } = project.manifest.project
  const warnings: string[] = []
  const named = await commitOf(outputFolder, name)
  const base = await git(outputFolder, ['merge-base', named, 'HEAD'])
  const commit = base.code === 0 ? base.stdout.toString().trim() : named
  if (base.code !== 0) {
    warnings.push(
      `Where HEAD and ${name} parted is not known here: compared with ${name} itself. In a shallow clone, git fetch --unshallow gets the history.`,
    )
  }
  // It is in the folder in which Git is called.
  const lockName = basename(lockPath)
  const bytes = await gitObject(outputFolder, `${commit}:./${lockName}`, maxStateText)
  if (bytes === undefined) warnings.push(`${lockName} is not in ${name}: every asset is new.`)
  try {
    const lock = bytes && parseLock(bytes.toString(), `${commit.slice(0, 12)}:${lockName}`)
    return { name, commit, project: project.with({ lock: lock ?? new Map() }), warnings }
  } catch (error) {
    const hint = 'It is the lock that --since compares with: name another commit.'
    throw error instanceof UsageError && error.code !== 'other_version' ? error.amend({ hint }) : error
  }
}

/** The id of the commit that a name means. @throws UsageError */
async function commitOf(folder: string, name: string): Promise<string> {
  // Git would take it for an option; no branch or tag begins so.
  const isName = !name.startsWith('-')
  const { code, stdout, message } = isName
    ? await git(folder, ['rev-parse', '--verify', '--quiet', `${name}^{commit}`])
    : { code: 1, stdout: '', message: '' }
  // A revision such as `^main` has no id.
  const id = /^[0-9a-f]{40,64}$/.exec(stdout.toString().trim())?.[0]
  if (code === 0 && id !== undefined) return id
  // Of a branch that is younger than `main@{9}` asks for, Git says nothing at all.
  if (code === 0 || code === 1 || message === '') {
    throw new UsageError(`There is no commit ${JSON.stringify(name)} here.`, {
      code: 'unknown_id',
      hint: 'Fetch its branch first: git fetch origin BRANCH, then --since FETCH_HEAD. With actions/checkout: fetch-depth: 0.',
    })
  }
  throw new UsageError(`Git cannot read the commit ${JSON.stringify(name)}: ${message}`, {
    hint: '--since needs Git, and a manifest in a Git repository.',
  })
}

export function foundThen({ project }: Since, { instance, block, keys }: Assessment): FoundBlock | null {
  return findBlock(instance, block === null ? keys : [block.key, ...keys], project)
}

/** The path of the bytes of an output of that time, which may be taken from Git; undefined where they are nowhere. */
export async function bytesThen({ project, commit }: Since, key: string, facts: OutputFacts) {
  const own = await findResult(key, { outputs: [facts] }, project)
  // In a folder that cannot be written to there is a report all the same, without the picture.
  return own?.[0] ?? (await project.replaced.takeFromGit(facts, [commit]).catch(() => undefined))
}
