import { dirname, join, relative, resolve } from 'node:path'
import type { FileContext } from '../../context.ts'
import type { AssetReport } from '../../events/asset-report.ts'
import { outputVersion } from '../../events/version.ts'
import type { RunReportDocument } from '../../events/run-document.ts'
import { openAtomicFile } from '../../files/atomic-file.ts'
import { withoutSecrets } from '../../operations/operation.ts'
import { matchInstances, planRun, withNeeds } from '../plan/plan-run.ts'
import { withProject } from '../changes/change-project.ts'
import type { ManifestCall } from '../run/project.ts'
import { contactSheet } from './contact-sheet.ts'
import { markdownReport } from './markdown-report.ts'
import { buildReport } from './report-model.ts'
import { startOf } from './sheet-files.ts'
import { readSince } from './since.ts'

type Format = RunReportDocument['files'][number]['format']

export interface ReportOptions {
  readonly jobs: readonly string[]
  /** Paths relative to the working directory; those of the sandbox to its folder, unless the user has named a place. */
  readonly files: readonly { readonly path: string; readonly format: Format }[]
  readonly isPlaced: boolean
  readonly isForced: boolean
  readonly embeds: boolean
  readonly currency: string | null
  /** The commit to compare with; undefined for what was there before the last run. */
  readonly since: string | undefined
}

/**
 * Writes how the assets of a manifest stand into files. Nothing else is changed, but that earlier bytes that only Git has are
 * kept with those that were put aside, where the page can link to them.
 * @throws UsageError for mistakes in the manifest or the lock, for unknown jobs, and as `readSince` does; FileError
 */
export async function writeReports(call: ManifestCall, options: ReportOptions): Promise<RunReportDocument> {
  return await withProject(call, false, async ({ context, next, project }) => {
    const { manifest } = project
    const { isSandbox, folder, outputFolder } = manifest.project
    const above = isSandbox && !options.isPlaced ? relative(context.cwd, outputFolder) : ''
    const since = options.since === undefined ? null : await readSince(project, options.since)
    const { jobs, currency } = options
    const shown = matchInstances(manifest, jobs)
    const plan = await planRun(project, withNeeds(manifest, shown), context)
    const built = await buildReport({ context, project, plan, shown, currency, next, since })
    // Prompts and messages may hold what the program knows as a secret.
    const report = withoutSecrets(built, call.redactor)
    const files: RunReportDocument['files'][number][] = []
    for (const { path, format } of options.files) {
      files.push(await writeReport(context, folder, report, { path: join(above, path), format }, options))
    }
    return {
      version: outputVersion,
      command: 'run report',
      manifest: project.shownManifest,
      states: report.sums.states,
      files,
      warnings: [...manifest.warnings, ...project.history.problems, ...(since?.warnings ?? [])],
    }
  })
}

async function writeReport(
  context: FileContext,
  folder: string,
  report: AssetReport,
  { path, format }: ReportOptions['files'][number],
  { isForced, embeds }: ReportOptions,
) {
  const absolute = resolve(context.cwd, path)
  const before = (await startOf(absolute, 1000))?.toString() ?? ''
  const file = await openAtomicFile(context, path, { force: isForced || marks[format].test(before) })
  try {
    const place = { folder, sheetFolder: dirname(absolute), embeds }
    const pieces =
      format === 'html'
        ? contactSheet(report, place)
        : [format === 'json' ? `${JSON.stringify(report, null, 2)}\n` : markdownReport(report)]
    for await (const piece of pieces) {
      await file.write(piece)
      context.signal.throwIfAborted()
    }
    const saved = await file.commit()
    return { path: saved.path, format, bytes: saved.bytes }
  } finally {
    await file.discard()
  }
}

/** How each report begins, so that the next one replaces it and no other file. */
const marks: Readonly<Record<Format, RegExp>> = {
  html: /<meta name="generator" content="modelgate run report">/,
  markdown: /^<!-- modelgate run report -->/,
  // Reports of 0.1.0 have no command.
  json: /^\{\n {2}"version": 1,\n(?: {2}"command": "run report .*\n)? {2}"name": .*\n {2}"manifest": /,
}
