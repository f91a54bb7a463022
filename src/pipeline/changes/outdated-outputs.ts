import { unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { ResolvedLock } from '../lock/merge-lock.ts'
import type { OutputFacts } from '../lock/lock-block.ts'
import { findResult } from '../plan/result-files.ts'
import type { OpenProject } from '../run/project.ts'
import { digestOfFile, isTextType } from '../store/file-digest.ts'
import { findInGit, gitObject } from '../store/git-objects.ts'
import { isInOutputFolder, placeOutput } from '../store/place-output.ts'

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
      if (there !== facts.sha256 && (await gitObject(places.outputFolder, `:2:./${path}`)) === undefined)
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
  const [own] = (await findResult(key, { outputs: [facts] }, project)) ?? []
  // Both sides of the conflict, and what it began with.
  return own ?? (await findInGit(manifest.project, replaced, facts, [':2', ':3', 'HEAD', 'MERGE_HEAD']))
}
