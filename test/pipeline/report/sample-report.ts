import { join } from 'node:path'
import type {
  AssetReport,
  ReportAsset,
  ReportCandidate,
  ReportFile,
} from '../../../src/events/asset-report.ts'
import { writeReports, type ReportOptions } from '../../../src/pipeline/report/write-report.ts'
import type { ManifestCall } from '../../../src/pipeline/run/project.ts'
import { stateCounts } from '../../support/run-samples.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { factsOf } from '../plan/sample-world.ts'
import type { Bench } from '../run/run-bench.ts'

/** Writes a report of a project, by default as report.json. */
export async function writeReport(
  bench: Bench,
  options: Partial<ReportOptions> = {},
  changes: Partial<ManifestCall> = {},
) {
  const usual: ReportOptions = {
    jobs: [],
    files: [{ path: 'report.json', format: 'json' }],
    isPlaced: false,
    isForced: true,
    embeds: false,
    currency: null,
    since: undefined,
  }
  return await writeReports({ ...bench.call, ...changes }, { ...usual, ...options })
}

export const formats = [
  { path: 'report.html', format: 'html' },
  { path: 'report.md', format: 'markdown' },
  { path: 'report.json', format: 'json' },
] as const

export const reportIn = (bench: Bench) => JSON.parse(bench.read('report.json')) as AssetReport

/** A file that lies where it belongs. */
export function file(path: string, bytes: string | Uint8Array, media_type = 'text/plain'): ReportFile {
  return { ...factsOf(path, bytes), stored: path, media_type }
}

/** A folder with the files of a report, and the place of a sheet in it. */
export function reportFolder() {
  const folder = temporaryFolder()
  return {
    place: { folder, sheetFolder: join(folder, 'report'), embeds: false },
    write(...[path, bytes, mediaType]: Parameters<typeof file>): ReportFile {
      writeFiles(folder, { [path]: bytes })
      return file(path, bytes, mediaType)
    },
  }
}

const provenance = {
  model: 'gpt-image-2',
  origin: 'https://gateway.example',
  request_id: 'req_1',
  job_id: null,
  took_s: 12.4,
  cost: null,
}

/** An asset that is up to date, but for what is told. */
export function asset(id: string, changes: Partial<ReportAsset> = {}): ReportAsset {
  return {
    id,
    job: id,
    command: 'image create',
    kind: 'image',
    state: 'fresh',
    reasons: [],
    next: null,
    prompt: null,
    prompt_file: null,
    fields: [],
    alt: null,
    output: 'assets/hero.webp',
    files: [],
    before: [],
    candidates: [],
    picked: null,
    adopted: null,
    failure: null,
    ...provenance,
    ...changes,
  }
}

export function candidate(number: number, file: ReportFile, reasons: string[] = []): ReportCandidate {
  const isRejected = reasons.length > 0
  return {
    number,
    state: isRejected ? 'rejected' : 'awaiting',
    reasons,
    files: [file],
    pick: isRejected ? null : ['modelgate', 'run', 'pick', 'photos[a]', String(number)],
    ...provenance,
  }
}

export const failure = { code: 'content_refused', message: 'No | <b>.', exit_code: 9, billed: 'no' } as const

export function reportOf(...assets: readonly ReportAsset[]): AssetReport {
  return {
    version: 1,
    command: 'run report --format json',
    name: 'shop',
    manifest: 'modelgate.yaml',
    time: '2026-11-22T12:30:00.000Z',
    sandbox: false,
    since: null,
    sums: {
      assets: assets.length,
      states: stateCounts(),
      creates: 0,
      bytes: 0,
      took_s: 0,
      cost: null,
      currency: 'EUR',
    },
    assets: [...assets],
  }
}
