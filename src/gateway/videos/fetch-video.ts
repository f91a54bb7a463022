import { lastSegment } from '../../contract/videos.ts'
import { isoTime } from '../../events/format-job.ts'
import { ModelgateError, ContractError } from '../../errors.ts'
import { createDownload, isGone, type DownloadOptions, type DownloadSink } from '../download/download.ts'
import type { Gateway } from '../gateway.ts'
import { endpointUrl, isOwnOrigin, type Roots } from '../url.ts'
import { readErrorBody } from '../reply-errors.ts'
import { jobObject, videoIdIn, type JobReport } from './read-job.ts'
import { distinct, urlSource, videosIn, type VideoSource, type VideoSources } from './video-sources.ts'

/** A last resort: fields that are meant for something else (quirk 22; new-api keeps the URL in `fail_reason`). */
const misusedNames = ['remixed_from_video_id', 'fail_reason'] as const

/**
 * One entry for each video. An operation's reply lists them. For a video the URL in the reply comes first, since gateways that
 * send one often have no `/content`; without one `/content` does.
 */
export function videoSources(report: JobReport): readonly VideoSources[] {
  const job = jobObject(report.value)
  const videos = videosIn(job)
  const isOperation = 'done' in job || 'response' in job
  if (videos.length > 1 || (report.kind === 'operation' && isOperation)) return videos
  const id = report.kind === 'video' ? report.id : (videoIdIn(job) ?? lastSegment(report.id))
  const content: VideoSource = { kind: 'content', from: `/v1/videos/${encodeURIComponent(id)}/content` }
  const misused = misusedNames.flatMap((name) => urlSource(job[name]))
  return [distinct([...(videos[0] ?? []), content, ...misused])]
}

export type FetchVideoOptions = Pick<DownloadOptions, 'allowPrivate' | 'network' | 'onProgress' | 'maxBytes'>

export type VideoFetcher = ReturnType<typeof createVideoFetcher>

/** No clip of some seconds needs more. */
const maxVideoBytes = 8 * 1024 ** 3

/**
 * Fetches the videos of a completed job into sinks that the caller ends. When a URL has expired, the job is looked up once more
 * for a fresh one (fault F11).
 */
export function createVideoFetcher(
  gateway: Gateway,
  completed: JobReport,
  lookUp: () => Promise<JobReport>,
  options: FetchVideoOptions = {},
) {
  let report = completed
  let isFresh = false
  const isOver = () => report.expiresAt !== null && report.expiresAt * 1000 <= gateway.clock.now()
  // Some gateways no longer find what has expired.
  const hasGone = (error: unknown): error is ModelgateError =>
    isExpired(error) || (error instanceof ModelgateError && error.facts.httpStatus === 404 && isOver())
  return {
    /** A newer one after a URL had expired. */
    get report() {
      return report
    },
    /**
     * @param index of the video, from 0
     * @returns whether the transport showed where the content ends
     * @throws ModelgateError 4 `url_expired` where that is what all sources say; 5, 6, 8 as `download` does
     */
    async fetch(index: number, writer: DownloadSink): Promise<boolean> {
      const fetchFrom = createVideoDownload(gateway, writer, { ...options, isExpired: isOver })
      for (;;) {
        try {
          return await fetchFrom(videoSources(report)[index] ?? [])
        } catch (error) {
          if (!hasGone(error)) throw error
          if (isFresh) throw isGone(error) || isOver() ? expired(error, report, isOver()) : error
        }
        isFresh = true
        report = await lookUp()
      }
    },
  }
}

/** From the first source that has it. What breaks off begins again, from the same or another. */
export function createVideoDownload(
  gateway: Gateway,
  writer: DownloadSink,
  options: FetchVideoOptions & Pick<DownloadOptions, 'isExpired'>,
): (sources: VideoSources) => Promise<boolean> {
  const limits = { maxBytes: maxVideoBytes, ...options, textError: notAVideo }
  const download = createDownload(gateway, writer, limits)
  return async (sources) => {
    let failure: unknown
    for (const source of sources) {
      try {
        return await fetchSource(gateway, source, download)
      } catch (error) {
        if (gateway.signal.aborted || !mayBeElsewhere(error)) throw error
        // The first failure is that of the best source; but that something has expired explains more than a failed guess.
        if (failure === undefined || (!isExpired(failure) && isExpired(error))) failure = error
      }
    }
    throw failure ?? noSource()
  }
}

async function fetchSource(
  gateway: Gateway,
  { kind, from }: VideoSource,
  download: ReturnType<typeof createDownload>,
): Promise<boolean> {
  if (kind === 'bytes') return download.fromText(from)
  if (kind === 'content') return download.from(endpointUrl(gateway, from).href)
  if (/^gs:/i.test(from)) throw inCloudStorage(from)
  try {
    return await download.from(from)
  } catch (refusal) {
    if (!(refusal instanceof ModelgateError) || !isForGateway(refusal)) throw refusal
    const own = relayedFile(gateway, from)
    if (own === undefined) throw refusal
    return await download.from(own.href).catch((error: unknown) => {
      if (gateway.signal.aborted || !mayBeElsewhere(error)) throw error
      throw servedByNeither(refusal, error, { asked: from, own })
    })
  }
}

/** Another source does not help if this machine cannot write the file. */
function mayBeElsewhere(error: unknown): error is ModelgateError {
  return (
    error instanceof ModelgateError &&
    ['rejected', 'later', 'contract', 'notSent', 'key'].includes(error.exit)
  )
}

function isExpired(error: unknown): error is ModelgateError {
  return error instanceof ModelgateError && error.code === 'url_expired'
}

function expired(error: ModelgateError, { id, expiresAt }: JobReport, isOver: boolean): ModelgateError {
  const why = isOver
    ? `The video has expired: it was available until ${isoTime(expiresAt!)}.`
    : 'The URL of the video has expired, or requires a key of its own.'
  const message = `${why} ${error.message}`
  return error.amend({ exit: 'rejected', code: 'result_expired', message, remoteId: id, billed: 'yes' })
}

function inCloudStorage(url: string): ModelgateError {
  const shown = url.slice(0, 2048)
  const message = `The gateway has left the video in cloud storage at ${shown}, where only its owner can read it.`
  const hint = `Fetch it with: gcloud storage cp ${shown} .`
  const facts = { phase: 'result', billed: 'yes', hint } as const
  return new ModelgateError('rejected', 'result_in_cloud_storage', message, facts)
}

function noSource(): ContractError {
  const facts = { phase: 'result', billed: 'yes', hint: 'See its reply with --json.' } as const
  return new ContractError('reply_not_understood', 'The gateway does not say where the video is.', facts)
}

/** No container of videos begins as JSON or HTML does (fault F17): such a text is quoted. */
function notAVideo(text: string): ContractError {
  const { message } = readErrorBody(text)
  const isPage = /^\s*</.test(text)
  const what = isPage ? (message ?? 'an HTML page') : message === undefined ? 'JSON' : 'text'
  const end = isPage || message === undefined ? '.' : `: ${message}`
  return new ContractError('damaged_media', `Instead of the video, the gateway sent ${what}${end}`, {
    phase: 'result',
  })
}

/** Of the service that many gateways pass operations on to (wire notes, section 7, "Download"). */
const filePath = /\/v1[a-z]*\/files\/[^/]+$/

/** A gateway may pass on a URL of its service unchanged, which wants a key that only it has (wire notes, section 7). */
function relayedFile(gateway: Roots, address: string): URL | undefined {
  const url = URL.parse(address.trim())
  if (url === null || isOwnOrigin(gateway, url)) return undefined
  const path = filePath.exec(url.pathname)?.[0]
  // The rest of the query is meant for the service.
  return path === undefined ? undefined : endpointUrl(gateway, path, { alt: 'media' })
}

/** Whether only the gateway may have the key, or a way, to the service. */
function isForGateway({ code, exit, facts: { httpStatus } }: ModelgateError): boolean {
  return exit === 'notSent' || (code === 'url_expired' && (httpStatus === 401 || httpStatus === 403))
}

function servedByNeither(
  refusal: ModelgateError,
  error: ModelgateError,
  { asked, own }: { readonly asked: string; readonly own: URL },
): ModelgateError {
  const why =
    refusal.exit === 'notSent'
      ? refusal.message.replace(/\.$/, '')
      : `${new URL(asked).host} requires a key of its own for the video (HTTP ${refusal.facts.httpStatus})`
  const message = `${why}, and ${own.host} does not serve it either: ${error.message}`
  if (error.exit === 'later' || error.exit === 'notSent') return error.amend({ message })
  const hint =
    'The gateway returned a URL that only its own key can open: ask its operator where the video is.'
  return refusal.amend({ message, hint })
}
