import { join } from 'node:path'
import { Option, type Command } from 'commander'
import type { Context } from '../context.ts'
import { UsageError } from '../errors.ts'
import { writeReports } from '../pipeline/report/write-report.ts'
import { pathLines, showDocument, takeManifest, type ManifestOptions } from './run/manifest-command.ts'
import { addExamples } from './shared/options/common-options.ts'

interface ReportFlags extends ManifestOptions {
  format?: string
  embed?: boolean
  since?: string
}

const extensions = { html: 'html', markdown: 'md', json: 'json' } as const
type Format = keyof typeof extensions
const formats = Object.keys(extensions) as readonly Format[]

export function registerRunReport(command: Command, context: Context, write = writeReports): void {
  addExamples(command, [
    ['modelgate run report', 'a page for a browser: report.html'],
    ['modelgate run report -o sheet.html "photos*"'],
    ['modelgate run report --since origin/main', 'what a branch changes'],
    ['modelgate run report --format html,markdown,json -o reports/'],
  ])
  command
    .argument('[job...]', 'only these jobs; "*" and "?" are wildcards')
    .option('--format <list>', `the formats, separated by commas: ${formats.join(', ')} (html)`)
    .option('--embed', 'embed full-size images and videos in the page, not only thumbnails')
    .addOption(
      new Option(
        '--since <commit>',
        'show only what has changed since this branch left a commit, such as origin/main, and what is not up to date',
      ).conflicts('sandbox'), // Git does not have the lock of the sandbox.
    )
  takeManifest(command, 'output force', {
    output: 'the file; for several formats a folder, such as reports/ (report.html)',
  }).action(async (jobs: string[], options: ReportFlags) => {
    const files = reportFiles(options)
    await showDocument(context, options, {
      run: (manifest, { settings }) =>
        write(manifest, {
          jobs,
          files,
          isPlaced: options.output !== undefined,
          isForced: options.force === true,
          embeds: options.embed === true,
          since: options.since,
          currency: Object.values(settings.prices.value)[0]?.currency ?? null,
        }),
      result: (document) => pathLines(document.files),
    })
  })
}

function reportFiles({ format = 'html', output }: ReportFlags): { path: string; format: Format }[] {
  const wanted = [...new Set(format.split(',').map((word) => word.trim()))].map(formatOf)
  const isFolder = output === undefined || /[/\\]$/.test(output)
  if (output === '-') throw new UsageError('A report is a file: -o - does not apply to run report.')
  if (isFolder) {
    return wanted.map((one) => ({ path: join(output ?? '', `report.${extensions[one]}`), format: one }))
  }
  const [only] = wanted
  if (wanted.length > 1) {
    throw new UsageError(`-o ${output} names one file, and there are ${wanted.length} formats.`, {
      hint: 'Name a folder: -o reports/',
    })
  }
  return [{ path: output, format: only! }]
}

function formatOf(word: string): Format {
  const known = formats.find((format) => format === word)
  if (known !== undefined) return known
  throw new UsageError(
    `--format must be one or more of ${formats.join(', ')}, not ${JSON.stringify(word.slice(0, 40))}.`,
  )
}
