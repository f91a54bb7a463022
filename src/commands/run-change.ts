import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { UsageError } from '../errors.ts'
import type { RunChangeDocument, RunCleanDocument, RunRestoreDocument } from '../events/run-document.ts'
import { gap, linesText, oneLine, padded, tabbedText, type Columns } from '../output/table-cells.ts'
import { adoptJobs, pickCandidate, restoreVersion } from '../pipeline/changes/change-outputs.ts'
import { cleanProject } from '../pipeline/changes/clean.ts'
import type { ManifestCall } from '../pipeline/run/project.ts'
import { byteText, counted } from '../quantities.ts'
import { pathLines, showDocument, takeManifest, type ManifestOptions } from './run/manifest-command.ts'
import { addExamples } from './shared/options/common-options.ts'

export function registerRunAdopt(command: Command, context: Context, adopt = adoptJobs): void {
  addExamples(command, [
    ['modelgate run adopt hero', 'the file is right as it is'],
    ['modelgate run adopt "photos*"'],
  ])
  command.argument(
    '<job...>',
    'jobs whose present files become the locked outputs; "*" and "?" are wildcards',
  )
  takeManifest(command).action(async (jobs: string[], options: ManifestOptions) =>
    showChange(context, options, (call) => adopt(call, jobs)),
  )
}

export function registerRunPick(command: Command, context: Context, pick = pickCandidate): void {
  addExamples(command, [
    ['modelgate run report', 'shows the candidates side by side'],
    ['modelgate run pick hero 2'],
  ])
  command
    .argument('<job>', 'a job, or an instance such as photos[shoe]')
    .argument('<number>', 'number of the candidate, from 1', numberOf('candidate'))
  takeManifest(command).action(async (job: string, number: number, options: ManifestOptions) =>
    showChange(context, options, (call) => pick(call, job, number)),
  )
}

function numberOf(what: string) {
  return (text: string): number => {
    if (/^[1-9]\d{0,3}$/.test(text)) return Number(text)
    const given = JSON.stringify(text.slice(0, 40))
    throw new UsageError(`The number of the ${what} must be a whole number from 1, not ${given}.`)
  }
}

/** Shows what was locked: the paths of the files, and on standard error a line for each instance. */
async function showChange(
  context: Context,
  options: ManifestOptions,
  change: (call: ManifestCall) => Promise<RunChangeDocument>,
): Promise<void> {
  await showDocument(context, options, {
    run: change,
    result: ({ instances }) => pathLines(instances.flatMap(({ files }) => files)),
    notes({ command, instances }) {
      if (instances.length === 0) return ['Nothing to change: it is already locked.']
      return instances.map(({ instance, variant }) =>
        command === 'run pick' ? `${instance}: candidate ${variant} is the output` : `${instance}: locked`,
      )
    },
  })
}

export function registerRunRestore(command: Command, context: Context, restore = restoreVersion): void {
  addExamples(command, [
    ['modelgate run restore hero', 'lists its earlier files'],
    ['modelgate run restore hero 2', 'makes the second one the output'],
  ])
  command
    .argument('<job>', 'a job, or an instance such as photos[shoe]')
    .argument('[number]', 'number of the file in the list; without it they are listed', numberOf('file'))
  takeManifest(command).action(async (job: string, number: number | undefined, options: ManifestOptions) =>
    showDocument(context, options, {
      run: (call) => restore(call, job, number),
      result: versionLines,
      notes: (document) => [restoredText(document)],
    }),
  )
}

/** The path of what was restored; else a line for each: for scripts number, time, path, bytes and digest, with tabs. */
function versionLines({ versions, restored }: RunRestoreDocument, columns: Columns): string {
  if (restored !== null) return pathLines([versions[restored - 1]!])
  if (columns === undefined) {
    return tabbedText(versions, (one) => [one.number, one.time, one.path, one.bytes, one.sha256])
  }
  const lines = versions.map(({ number, time, path, bytes }) => {
    const when = time.slice(0, 16).replace('T', ' ')
    return [`${number}`.padStart(3), when, byteText(bytes).padStart(8), oneLine(path)].join(gap)
  })
  return linesText(lines)
}

function restoredText({ instance, versions, restored }: RunRestoreDocument): string {
  if (restored !== null) return `${instance}: file ${restored} is the output, adopted`
  if (versions.length === 0) return `No earlier file of ${instance} is kept here.`
  return 'Give its number to bring one back.'
}

export function registerRunClean(command: Command, context: Context, clean = cleanProject): void {
  addExamples(command, [
    ['modelgate run clean', 'lists what could be removed'],
    ['modelgate run clean --yes'],
    ['modelgate run clean --outputs --yes', 'also outputs of jobs that are gone'],
  ])
  command
    .option('--yes', 'remove the files; without this flag they are only listed')
    .option('--outputs', 'also outputs of instances that the manifest no longer has')
  takeManifest(command).action(async (options: ManifestOptions & { yes?: true; outputs?: true }) =>
    showDocument(context, options, {
      run: (call) => clean(call, { isRemoving: options.yes === true, outputs: options.outputs === true }),
      result: itemLines,
      notes: (document) => [sumText(document)],
    }),
  )
}

/** For scripts: path, kind, bytes and instance, separated by tabs. */
function itemLines({ items }: RunCleanDocument, columns: Columns): string {
  if (columns === undefined) {
    return tabbedText(items, ({ path, kind, bytes, instance }) => [path, kind, bytes, instance])
  }
  const lines = items.map(({ path, kind, bytes, instance }) => {
    const of = instance === null ? '' : ` (${oneLine(instance)})`
    return [padded(kind, 'candidate'.length), byteText(bytes).padStart(8), `${oneLine(path)}${of}`].join(gap)
  })
  return linesText(lines)
}

function sumText({ items, bytes, removed }: RunCleanDocument): string {
  if (items.length === 0) return 'There is nothing to remove.'
  const sum = `${counted(items.length, 'file')}, ${byteText(bytes)}`
  return removed ? `${sum}: removed.` : `${sum}: --yes removes ${items.length === 1 ? 'it' : 'them'}.`
}
