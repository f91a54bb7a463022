import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import type { OutputFacts } from '../lock/lock-block.ts'
import type { Project } from '../project.ts'
import { isTextType, withLineFeeds } from './file-digest.ts'
import type { Replaced } from './replaced.ts'

const maxObjectBytes = 1024 ** 3

/** In milliseconds, for one call of Git, which fetches objects that a partial clone has left out. */
const timeLimit = 60_000

export interface GitAnswer {
  /** Its exit code; undefined where it was not found, took too long, or printed too much. */
  readonly code: number | undefined
  readonly stdout: Buffer
  /** What it said, or why it did not run or end; empty where it said nothing. */
  readonly message: string
}

/**
 * Calls Git without a shell.
 * @param folder where it runs
 * @param maxBytes of its output
 */
export async function git(
  folder: string,
  words: readonly string[],
  maxBytes = maxObjectBytes,
): Promise<GitAnswer> {
  return await new Promise((resolve) => {
    const options = { cwd: folder, encoding: 'buffer', maxBuffer: maxBytes, timeout: timeLimit } as const
    execFile('git', words, options, (error, stdout, told) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : undefined
      resolve({ code, stdout, message: told.toString().trim() || (code === undefined ? error!.message : '') })
    })
  })
}

/**
 * The bytes of an object.
 * @param name as Git takes it: `HEAD:./a.png` is relative to the folder
 * @returns undefined where there is none, where it has more bytes, and without Git
 */
export async function gitObject(
  folder: string,
  name: string,
  maxBytes = maxObjectBytes,
): Promise<Buffer | undefined> {
  const { code, stdout } = await git(folder, ['cat-file', 'blob', name], maxBytes)
  return code === 0 ? stdout : undefined
}

/**
 * Finds the bytes of an output among the objects of Git, and keeps them with what was put aside.
 * @param revisions where it may have been committed, in the order of the search: `HEAD`, or `:2` for a side of a conflict
 * @returns their absolute path; undefined where they are nowhere: Git LFS commits a pointer in their place
 * @throws FileError; the error of the system
 */
export async function findInGit(
  { outputFolder }: Project,
  replaced: Replaced,
  { path, sha256, bytes: size, media_type }: OutputFacts,
  revisions: readonly string[],
): Promise<string | undefined> {
  const isText = isTextType(media_type)
  // Each line of a text may have been committed with a CR.
  const maxBytes = Math.min(maxObjectBytes, isText ? 2 * size : size)
  for (const revision of revisions) {
    const object = await gitObject(outputFolder, `${revision}:./${path}`, maxBytes)
    if (object === undefined) continue
    const bytes = isText ? withLineFeeds(object) : object
    if (hash('sha256', bytes) !== sha256) continue
    await replaced.receive(sha256, async (temporary) => {
      await writeFile(temporary, bytes, { flag: 'wx', flush: true })
      return true
    })
    return await replaced.open(sha256)
  }
  return undefined
}
