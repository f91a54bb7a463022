import type { SavedVideo, VideoDocument, VideoFailure } from '../../events/video.ts'
import { outputVersion } from '../../events/schema.ts'
import type { ModelgateError } from '../../errors.ts'
import type { JobReport } from '../../gateway/videos/job-fields.ts'
import type { Output } from '../../output/output.ts'

/** What can be told of a job, by the gateway or by the record; the gateway's own object is not always on record. */
export type KnownJob = Pick<
  JobReport,
  'id' | 'kind' | 'model' | 'state' | 'status' | 'progress' | 'expiresAt' | 'requestId' | 'text'
> & { readonly value: JobReport['value'] | null }

/** What a command tells of a job and its videos, while things happen and at the end. */
export interface VideoReport {
  readonly output: Output
  readonly failures: readonly VideoFailure[]
  start(): void
  warn(message: string): void
  /** The newest that is known of the job. */
  take(job: KnownJob): void
  save(index: number, file: SavedVideo): void
  fail(index: number, error: ModelgateError): void
  /** The newest that the gateway said of the job, as it was written (`--raw`); undefined while nothing is known. */
  raw(): string | undefined
  /** Undefined while nothing is known of the job. */
  document(): VideoDocument | undefined
}

export function createVideoReport(
  output: Output,
  command: VideoDocument['command'],
  model: string,
): VideoReport {
  const files = new Map<number, SavedVideo>()
  const failures: VideoFailure[] = []
  const warnings: string[] = []
  let job: KnownJob | undefined

  return {
    output,
    failures,
    start: () =>
      output.event({ type: 'start', version: outputVersion, command, model: model === '' ? null : model }),
    warn(message) {
      if (warnings.includes(message)) return
      warnings.push(message)
      output.event({ type: 'warning-add', message })
    },
    take(report) {
      job = report
    },
    save(index, file) {
      files.set(index, file)
      output.event({ type: 'video-save', index, file })
    },
    fail(index, { code, message, facts }) {
      const failure = { index, code, message, rescued: facts.rescued?.[0] ?? null }
      failures.push(failure)
      output.event({ type: 'video-fail', failure })
    },
    raw: () =>
      job === undefined || job.value === null ? undefined : (job.text ?? JSON.stringify(job.value)),
    document() {
      if (job === undefined) return undefined
      const isVideo = job.kind === 'video'
      return {
        version: outputVersion,
        command,
        model: job.model ?? (model === '' ? null : model),
        id: job.id,
        kind: job.kind,
        state: job.state,
        status: job.status,
        progress: job.progress,
        // Relays count in milliseconds; the document counts whole seconds.
        expires_at: job.expiresAt === null ? null : Math.floor(job.expiresAt),
        video: isVideo ? job.value : null,
        operation: isVideo ? null : job.value,
        files: [...files].sort(([a], [b]) => a - b).map(([, file]) => file),
        failures,
        request_id: job.requestId,
        warnings,
      }
    },
  }
}
