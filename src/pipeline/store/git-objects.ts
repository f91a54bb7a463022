import { execFile } from 'node:child_process'

export const maxObjectBytes = 1024 ** 3

/** In milliseconds, for one call of Git, which fetches objects that a partial clone has left out. */
const timeLimit = 60_000

interface GitAnswer {
  readonly code: number | undefined
  readonly stdout: Buffer
  readonly message: string
}

/**
 * Calls Git without a shell.
 * @param folder where it runs
 * @param maxBytes of its output
 * @returns its exit code, undefined where it was not found, took too long, or printed too much; and what it said, or why it did
 * not run or end
 */
export async function git(
  folder: string,
  words: readonly string[],
  maxBytes = maxObjectBytes,
): Promise<GitAnswer> {
  return await new Promise((resolve) => {
    const options = { cwd: folder, encoding: 'buffer', maxBuffer: maxBytes, timeout: timeLimit } as const
    execFile('git', words, options, (error, stdout, said) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : undefined
      resolve({ code, stdout, message: said.toString().trim() || (code === undefined ? error!.message : '') })
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
