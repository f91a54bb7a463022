import { execFile } from 'node:child_process'
import { unlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ResolvedLock } from '../lock/merge-lock.ts'
import type { OutputFacts } from '../lock/lock-block.ts'
import { findResult } from '../plan/result-files.ts'
import type { OpenProject } from '../run/project.ts'
import { digestOfFile, isTextType } from '../store/file-digest.ts'
import { isInOutputFolder, placeOutput } from '../store/place-output.ts'
import { temporaryPath } from '../store/safe-copy.ts'

/**
 * Replaces the outputs of the side of a merge that lost, which version control may have left in place: by the bytes that the
 * lock names, from the results or from version control's own objects. What is replaced is put aside. A file that was changed
 * by hand stays.
 * @returns how to get what was found nowhere, each a sentence
 * @throws FileError
 */
export async function replaceOutdated(
  project: OpenProject,
  { lock, lost }: Pick<ResolvedLock, 'lock' | 'lost'>,
): Promise<string[]> {
  const { files, replaced, manifest } = project
  const { project: places } = manifest
  const problems: string[] = []
  for (const [id, blocks] of lost) {
    const chosen = lock.get(id)
    for (const facts of blocks.flatMap(({ outputs }) => outputs)) {
      const { path } = facts
      const isText = isTextType(facts.media_type)
      const target = join(places.outputFolder, path)
      const there = (await digestOfFile(target, isText))?.sha256
      if (there === undefined || project.lockedByPath.get(path)?.includes(there)) continue
      if (!(await isInOutputFolder(places, path))) continue
      // Into a text Git writes the markers of the conflict.
      if (there !== facts.sha256 && (await objectOf(places.outputFolder, `:2:./${path}`)) === undefined)
        continue
      await replaced.putAside(target)
      const wanted = chosen?.outputs.find((output) => output.path === path)
      const source = wanted && (await sourceOf(project, chosen!.key, wanted))
      if (wanted !== undefined && source !== undefined) {
        const { sha256 } = wanted
        await placeOutput(files, places, { source, sha256, isText, path, mayReplace: [there] })
      } else {
        await unlink(target)
        if (wanted !== undefined) {
          problems.push(`${path} is needed as it was committed: git checkout --theirs -- ${path}, or --ours.`)
        }
      }
    }
  }
  return problems
}

/** The absolute path of the bytes of an output; undefined where they are found nowhere. */
async function sourceOf(project: OpenProject, key: string, facts: OutputFacts): Promise<string | undefined> {
  const { replaced, manifest } = project
  const { outputFolder } = manifest.project
  const [own] = (await findResult(key, { outputs: [facts] }, project)) ?? []
  if (own !== undefined) return own
  // Both sides of the conflict, and what it began with.
  for (const side of [':2', ':3', 'HEAD', 'MERGE_HEAD']) {
    const bytes = await objectOf(outputFolder, `${side}:./${facts.path}`)
    if (bytes === undefined) continue
    const temporary = temporaryPath(dirname(manifest.project.lockPath), 'object')
    try {
      await writeFile(temporary, bytes, { flag: 'wx' })
      const isText = isTextType(facts.media_type)
      if ((await digestOfFile(temporary, isText))?.sha256 !== facts.sha256) continue
      await replaced.add(temporary, isText)
      return await replaced.open(facts.sha256)
    } finally {
      await unlink(temporary).catch(() => {})
    }
  }
  return undefined
}

const maxObjectBytes = 1024 ** 3

/** The bytes of an object of version control; undefined where there is none, or no Git. */
async function objectOf(folder: string, name: string): Promise<Buffer | undefined> {
  return await new Promise((resolve) => {
    const options = { cwd: folder, encoding: 'buffer', maxBuffer: maxObjectBytes } as const
    execFile('git', ['cat-file', 'blob', name], options, (error, stdout) =>
      resolve(error === null ? stdout : undefined),
    )
  })
}
