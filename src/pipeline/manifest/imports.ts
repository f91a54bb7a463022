import { basename, extname, isAbsolute, join, resolve } from 'node:path'
import type { FileContext } from '../../context.ts'
import { isProblem } from '../../problems.ts'
import type { Lock } from '../lock/lock-block.ts'
import { readLock } from '../lock/project-lock.ts'
import { projectOf, type Project } from '../project.ts'
import { memberOf, type YamlNode } from './yaml-nodes.ts'
import type { Reading } from './reading.ts'

/** Another manifest, of which only the lock is read. */
export interface Import {
  /** As it is written. */
  readonly path: string
  /** The folder that its outputs are relative to; absolute. */
  readonly folder: string
  readonly lock: Lock
}

/** The imports by the names that references give them: `canon` for `canon.yaml`. */
export async function readImports(
  context: FileContext,
  { files, mistakes, placeOf }: Reading,
  root: YamlNode,
  { manifestPath, folder }: Project,
): Promise<ReadonlyMap<string, Import>> {
  const own = projectOf(manifestPath, false)
  const found = new Map<string, Import>()
  const list = memberOf(root, 'imports')?.node
  for (const node of list?.kind === 'list' ? list.items : []) {
    if (node.kind !== 'scalar' || typeof node.value !== 'string') continue
    const path = node.value
    const name = basename(path, extname(path))
    const report = (message: string) => mistakes.add(placeOf(node.at), message)
    const project = projectOf(resolve(folder, path), false)
    const refusal = files.refusalOf(path)
    if (isAbsolute(path)) report(`${JSON.stringify(path)} must be relative to the manifest's folder.`)
    else if (refusal !== undefined) report(refusal)
    else if (project.lockPath === own.lockPath) report('A manifest cannot import itself.')
    else if (found.has(name)) report(`${found.get(name)!.path} is imported as @${name} already.`)
    else {
      try {
        const lock = await readLock(context, project)
        found.set(name, { path, folder: project.outputFolder, lock })
        if (lock.size === 0) report(`Nothing is locked of ${path}: run modelgate run -f ${path} first.`)
      } catch (error) {
        if (!isProblem(error)) throw error
        for (const { message } of error.facts.problems ?? [error]) report(message)
      }
    }
  }
  return found
}

/** Where an output of an import lies. */
export function importedPath({ folder }: Pick<Import, 'folder'>, path: string): string {
  return join(folder, ...path.split('/'))
}
