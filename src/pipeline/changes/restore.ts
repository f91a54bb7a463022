import { stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { UsageError } from '../../errors.ts'
import type { RunRestoreDocument } from '../../events/run-document.ts'
import type { LockBlock } from '../lock/lock-block.ts'
import { placeOutputs, possiblePaths } from '../manifest/output-paths.ts'
import { pathFrom } from '../run/describe.ts'
import type { ManifestCall } from '../run/project.ts'
import { digestOfFile, isTextType } from '../store/file-digest.ts'
import { placeOutput } from '../store/place-output.ts'
import { adopt, loginName } from './adopt.ts'
import { chooseOne, projectDocument, type ChangeScope } from './change-project.ts'

interface Version {
  /** Milliseconds since 1970 when it was put aside, or made. */
  readonly at: number
  readonly sha256: string
  readonly bytes: number
  readonly path: string
  readonly source: string
}

/**
 * `run restore`: lists the earlier files of a job, or makes one of them its output again, as adopted.
 * @param name of a job that has one instance, or the id of an instance
 * @param number of the version, from 1; undefined only to list them
 * @throws UsageError where there is no such version; what `adopt` throws; FileError
 */
export async function restoreVersion(
  call: ManifestCall,
  name: string,
  number: number | undefined,
  by = loginName(),
): Promise<RunRestoreDocument> {
  return await projectDocument(call, 'run restore', number !== undefined, async (scope) => {
    const { project } = scope
    const id = chooseOne(project, name)
    const versions = await versionsOf(scope, id)
    const block = number === undefined ? project.lock.get(id) : await restore(scope, id, versions, number, by)
    return {
      instance: id,
      versions: versions.map(({ at, sha256, bytes, path }, index) => {
        const shown = pathFrom(call.context.cwd, project.manifest.project.outputFolder, path)
        return { number: index + 1, time: new Date(at).toISOString(), path: shown, sha256, bytes }
      }),
      restored: number ?? null,
      adopted: block?.adopted ?? null,
    }
  })
}

function pathsOf({ project }: ChangeScope, id: string): readonly string[] {
  const instance = project.manifest.instances.get(id)!
  const block = project.lock.get(id)
  return block === undefined
    ? possiblePaths(instance, project.now).flatMap(([first]) => first ?? [])
    : placeOutputs(instance, block, project.now).map(({ path }) => path)
}

/** What was put aside of an instance, and what was made of it before, without what is in place: the oldest first. */
export async function versionsOf(scope: ChangeScope, id: string): Promise<readonly Version[]> {
  const { project } = scope
  const { history, replaced, results } = project
  const { outputFolder } = project.manifest.project
  const paths = pathsOf(scope, id)
  const lane = project.manifest.instances.get(id)!.lane
  const current = await Promise.all(
    paths.map(async (path) => (await digestOfFile(join(outputFolder, path), lane === 'text'))?.sha256),
  )
  const versions = new Map<string, Version>()
  const add = async (at: number, source: string, path: string | undefined, isText: boolean) => {
    const found = await digestOfFile(source, isText)
    if (found === undefined || path === undefined || current[paths.indexOf(path)] === found.sha256) return
    versions.set(`${path} ${found.sha256}`, { at, ...found, path, source })
  }
  for (const { at, sha256, name } of await replaced.listOf(new Set([id, ...paths]))) {
    const source = await replaced.open(sha256)
    // Of several outputs it is not known which one a result's file was.
    const path = paths.includes(name) ? name : paths.length === 1 ? paths[0] : undefined
    if (source !== undefined) await add(at, source, path, lane === 'text')
  }
  for (const { instance, key } of history.results.values()) {
    const found = instance === id ? await results.get(key) : undefined
    for (const [index, { media_type }] of (found?.result.outputs ?? []).entries()) {
      const source = found!.files[index]!
      await add((await stat(source)).mtimeMs, source, paths[index], isTextType(media_type))
    }
  }
  return [...versions.values()].toSorted((one, other) => one.at - other.at)
}

/** Puts a version in place of what is there, which is put aside, and locks it. @returns its block */
export async function restore(
  scope: ChangeScope,
  id: string,
  versions: readonly Version[],
  number: number,
  by: string,
): Promise<LockBlock | undefined> {
  const version = versions[number - 1]
  if (version === undefined) {
    throw new UsageError(
      versions.length === 0
        ? `No earlier file of ${id} is kept here.`
        : `There is no file ${number}: ${id} has ${versions.length === 1 ? '1 earlier file' : `${versions.length} earlier files`}.`,
      { code: 'unknown_id' },
    )
  }
  const { context, project } = scope
  const { project: places, instances } = project.manifest
  const { path, source, sha256 } = version
  const isText = instances.get(id)!.lane === 'text'
  const target = join(places.outputFolder, path)
  const there = await digestOfFile(target, isText)
  const aside = there && (await project.replaced.putAside(target))
  const mayReplace = there === undefined ? [] : [there.sha256]
  await placeOutput(context, places, { source, sha256, isText, path, mayReplace })
  try {
    const [changed] = await adopt(scope, [id], by)
    // What is as it was locked is not adopted.
    return changed?.block ?? project.lock.get(id)
  } catch (error) {
    // What cannot be locked would count as changed by hand.
    const before = aside && (await project.replaced.open(aside.sha256))
    if (there === undefined) await unlink(target)
    else if (before !== undefined)
      await placeOutput(context, places, { ...there, source: before, isText, path, mayReplace: [sha256] })
    throw error
  }
}
