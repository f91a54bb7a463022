import { ModelgateError } from '../../../src/errors.ts'
import { readJob, type AskedJob, type JobReport } from '../../../src/gateway/videos/read-job.ts'

export const now = Date.UTC(2026, 0, 1)
export const videoId = 'video_691608967fe8819399e710799dae2ae708872b008b63ff61'
export const operationName = 'models/veo-3.1-lite/operations/umz7sqimep69'

interface ReplyExtras {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** What a reply with this value tells of the job that was asked for. */
export function read(value: unknown, asked: AskedJob, { status = 200, headers = {} }: ReplyExtras = {}) {
  return readJob(value, asked, { status, headers, requestId: 'req-1', now })
}

export const readVideo = (value: unknown, extras?: ReplyExtras): JobReport =>
  read(value, { kind: 'video', id: videoId }, extras)

export const readOperation = (value: unknown, extras?: ReplyExtras): JobReport =>
  read(value, { kind: 'operation', id: operationName }, extras)

/** The exit code and code of what is thrown. */
export function problemOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (error instanceof ModelgateError) return `${error.exitCode} ${error.code}`
    throw error
  }
  return 'none'
}
