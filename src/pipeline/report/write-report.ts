import { open, stat } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import type { AssetReport } from '../../events/asset-report.ts'
import { outputVersion } from '../../events/output-schema.ts'
import type { RunReportDocument } from '../../events/run-document.ts'
import { openTextFile, type TextFile } from '../../files/text-file.ts'
import { withoutSecrets } from '../../operations/operation.ts'
import { creationOf } from '../manifest/instance-body.ts'
import type { Instance } from '../manifest/manifest.ts'
import { matchInstances, planRun, withNeeds } from '../plan/plan-run.ts'
import { findResult } from '../plan/result-files.ts'
import { openProject, type ManifestCall, type OpenProject } from '../run/project.ts'
import { lockWithUnfinished } from '../run/resume-run.ts'
import { contactSheet } from './contact-sheet.ts'
import { markdownReport } from './markdown-report.ts'
import { buildReport } from './report-model.ts'
import type { SheetPlace } from './sheet-files.ts'

export interface ReportOptions {
  /** Names of jobs or ids of instances, with wildcards; none for all. */
  readonly jobs: readonly string[]
  /** Paths relative to the working directory; those of the sandbox to its folder, unless the user has named a place. */
  readonly files: readonly { readonly path: string; readonly format: 'html' | 'markdown' | 'json' }[]
  readonly isPlaced: boolean
  /** Files that are there are replaced. */
  readonly isForced: boolean
  /** Whole pictures and videos are in the page. */
  readonly embeds: boolean
  /** Of the user's prices. */
  readonly currency: string | null
}

/**
 * Writes how the assets of a manifest stand into files; nothing else is changed, and nothing is sent.
 * @throws UsageError for mistakes in the manifest or the lock, and for jobs that there are not; FileError
 */
export async function writeReports(call: ManifestCall, options: ReportOptions): Promise<RunReportDocument> {
  const { context } = call
  const project = await openProject(call, false)
  const opened: TextFile[] = []
  try {
    // Prompts and messages may hold what the program knows as a secret.
    const report = withoutSecrets(await reportOf(call, project, options), call.redactor)
    const files: RunReportDocument['files'][number][] = []
    const { isSandbox, outputFolder } = project.manifest.project
    const usual = isSandbox && !options.isPlaced ? relative(context.cwd, outputFolder) : ''
    for (const { path: name, format } of options.files) {
      const path = join(usual, name)
      const file = await openTextFile(context, path, {
        force: options.isForced || (await isReport(resolve(context.cwd, path), format)),
      })
      opened.push(file)
      const place = {
        folder: project.manifest.project.folder,
        sheetFolder: dirname(resolve(context.cwd, path)),
        embeds: options.embeds,
      }
      for await (const piece of piecesOf(report, format, place)) {
        file.write(piece)
        await file.flush()
        context.signal.throwIfAborted()
      }
      const { path: saved, bytes } = await file.commit()
      files.push({ path: saved, format, bytes })
    }
    return {
      version: outputVersion,
      command: 'run report',
      manifest: project.shownManifest,
      states: report.sums.states,
      files,
      warnings: [...project.manifest.warnings, ...project.history.problems],
    }
  } finally {
    for (const file of opened) await file.discard()
    await project.close()
  }
}

/** How each report begins, so that the next one replaces it and no other file. */
const marks = {
  html: /<meta name="generator" content="modelgate run report">/,
  markdown: /^<!-- modelgate run report -->/,
  json: /^\{\n {2}"version": 1,\n {2}"name": .*\n {2}"manifest": /,
}

async function isReport(path: string, format: keyof typeof marks): Promise<boolean> {
  // A folder cannot be read, and of a pipe or a terminal nothing is to be taken.
  const isFile = await stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
  const file = isFile ? await open(path).catch(() => undefined) : undefined
  if (file === undefined) return false
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(1000), 0, 1000, 0)
    return marks[format].test(buffer.toString('utf8', 0, bytesRead))
  } finally {
    await file.close()
  }
}

function piecesOf(
  report: AssetReport,
  format: ReportOptions['files'][number]['format'],
  place: SheetPlace,
): AsyncIterable<string> | Iterable<string> {
  if (format === 'html') return contactSheet(report, place)
  return [format === 'json' ? `${JSON.stringify(report, null, 2)}\n` : markdownReport(report)]
}

async function reportOf(
  call: ManifestCall,
  project: OpenProject,
  options: ReportOptions,
): Promise<AssetReport> {
  const { context, next } = call
  const { manifest, history, results } = project
  const now = context.clock.now()
  const shown = matchInstances(manifest, options.jobs)
  const world = project.world({ lock: await lockWithUnfinished(project, now) })
  const estimate = (instance: Instance) => ({ creates: creationOf(instance).count, cost: null })
  const plan = await planRun(world, withNeeds(manifest, shown), { estimate, signal: context.signal })
  // In the order of the manifest, not in that of their references.
  const order = manifest.jobs.flatMap(({ instances }) => instances)
  return buildReport(context, {
    manifest,
    assessments: order.flatMap((id) => (shown.has(id) ? plan.assessments.get(id)! : [])),
    creates: plan.creates,
    past: history,
    results,
    find: (key, outputs) => findResult(key, { outputs }, world),
    currency: options.currency,
    now,
    next,
  })
}
