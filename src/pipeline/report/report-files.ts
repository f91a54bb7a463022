import { stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import type { Context } from '../../context.ts'
import type { ReportFile } from '../../events/asset-report.ts'
import { inspectAnyFile } from '../../files/inspect-file.ts'
import { factsOf } from '../execute/result-facts.ts'
import type { OutputFacts } from '../lock/lock-block.ts'
import type { BlobStore } from '../store/blob-store.ts'
import type { Project } from '../project.ts'

/** Finds the bytes of files that a report shows. */
export interface ReportFiles {
  /** Where the locked outputs lie: in their place, else in the store. */
  locked(outputs: readonly OutputFacts[], moves: ReadonlyMap<string, string>): Promise<ReportFile[]>
  /** Only what the store has, all or nothing. */
  stored(outputs: readonly OutputFacts[]): Promise<ReportFile[] | undefined>
  /** What lies at these paths, whatever it is. */
  found(paths: readonly string[]): Promise<ReportFile[]>
  /** @param paths absolute, in the order of the outputs; null for what is gone */
  at(outputs: readonly OutputFacts[], paths: readonly (string | null)[]): ReportFile[]
}

export function createReportFiles(
  context: Pick<Context, 'cwd' | 'clock' | 'signal'>,
  project: Project,
  store: Pick<BlobStore, 'open'>,
): ReportFiles {
  const inProject = (path: string) => relative(project.folder, path).replaceAll(sep, '/')
  const inPlace = (path: string) => join(project.outputFolder, path)

  async function whereLocked(output: OutputFacts, path: string): Promise<string | null> {
    if (await isFile(inPlace(path))) return inPlace(path)
    return (await store.open(output.sha256)) ?? null
  }

  function described(output: OutputFacts, stored: string | null): ReportFile {
    const { path, bytes, sha256, media_type, width, height, seconds, credentials } = output
    const place = stored === null ? null : inProject(stored)
    return { path, stored: place, bytes, sha256, media_type, width, height, seconds, credentials }
  }

  return {
    async locked(outputs, moves) {
      const files: ReportFile[] = []
      for (const output of outputs) {
        const path = moves.get(output.path) ?? output.path
        files.push(described(output, await whereLocked(output, path)))
      }
      return files
    },

    async stored(outputs) {
      const files: ReportFile[] = []
      for (const output of outputs) {
        const blob = await store.open(output.sha256)
        if (blob === undefined) return undefined
        files.push(described(output, blob))
      }
      return files
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
