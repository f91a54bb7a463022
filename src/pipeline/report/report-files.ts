import { stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import type { Context } from '../../context.ts'
import type { ReportFile } from '../../events/asset-report.ts'
import { inspectAnyFile } from '../../files/inspect-file.ts'
import { factsOf } from '../execute/result-facts.ts'
import type { OutputFacts } from '../lock/lock-block.ts'
import type { Project } from '../project.ts'

/** Finds the bytes of files that a report shows. */
export interface ReportFiles {
  /** Where the locked outputs of a key lie: in their place, else where their bytes are kept. */
  locked(
    key: string,
    outputs: readonly OutputFacts[],
    moves: ReadonlyMap<string, string>,
  ): Promise<ReportFile[]>
  /** Where the bytes are kept, all or nothing. */
  stored(key: string, outputs: readonly OutputFacts[]): Promise<ReportFile[] | undefined>
  /** What lies at these paths, whatever it is. */
  found(paths: readonly string[]): Promise<ReportFile[]>
  /** @param paths absolute, in the order of the outputs; null for what is gone */
  at(outputs: readonly OutputFacts[], paths: readonly (string | null)[]): ReportFile[]
}

/** Finds the bytes of outputs of a key; undefined unless all are there. */
export type FindBytes = (
  key: string,
  outputs: readonly OutputFacts[],
) => Promise<readonly string[] | undefined>

export function createReportFiles(
  context: Pick<Context, 'cwd' | 'clock' | 'signal'>,
  project: Project,
  find: FindBytes,
): ReportFiles {
  const inProject = (path: string) => relative(project.folder, path).replaceAll(sep, '/')
  const inPlace = (path: string) => join(project.outputFolder, path)

  async function whereLocked(key: string, output: OutputFacts, path: string): Promise<string | null> {
    if (await isFile(inPlace(path))) return inPlace(path)
    return (await find(key, [output]))?.[0] ?? null
  }

  function described(output: OutputFacts, stored: string | null): ReportFile {
    const { path, bytes, sha256, media_type, width, height, seconds, credentials } = output
    const place = stored === null ? null : inProject(stored)
    return { path, stored: place, bytes, sha256, media_type, width, height, seconds, credentials }
  }

  return {
    async locked(key, outputs, moves) {
      const files: ReportFile[] = []
      for (const output of outputs) {
        const path = moves.get(output.path) ?? output.path
        files.push(described(output, await whereLocked(key, output, path)))
      }
      return files
    },

    async stored(key, outputs) {
      const paths = await find(key, outputs)
      return paths && outputs.map((output, at) => described(output, paths[at]!))
    },

    async found(paths) {
      const files: ReportFile[] = []
      for (const path of paths) {
        const place = inPlace(path)
        if (!(await isFile(place))) continue
        files.push(described(factsOf(await inspectAnyFile(context, place), path), place))
      }
      return files
    },

    at: (outputs, paths) => outputs.map((output, index) => described(output, paths[index] ?? null)),
  }
}

async function isFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found?.isFile() ?? false
}
