import type { OutputDocument, OutputEvent } from '../events/documents.ts'
import type { TextDocument } from '../events/text.ts'
import { objectOf, stringOf } from '../json.ts'
import type { Notices } from './notices.ts'
import { isTextDocument, type Output } from './output.ts'
import type { Screen } from './screen.ts'
import type { Clock } from '../context.ts'
import type { VideoDocument } from '../events/video.ts'
import { formatState, isoTime } from '../events/format-job.ts'
import { imageLabel } from '../events/format-image.ts'
import { sanitise } from './gate.ts'
import { roundedDuration } from './job-progress.ts'

interface PathsOutputParts {
  readonly screen: Screen
  readonly notices: Notices
  /** Formats a path or a URL: unchanged, or sanitised for a terminal. */
  readonly show: (text: string) => string
}

/** Commands that make files: the path of each file, or the URL of each result, one per line. */
export function createPathsOutput({ screen, notices, show }: PathsOutputParts): Output {
  const line = (text: string) => screen.text(`${show(text)}\n`)
  return {
    event(event: OutputEvent) {
      notices.event(event)
      if (event.type === 'image-save' || event.type === 'video-save') line(event.file.path)
      else if (event.type === 'image-link') line(event.link.url)
      if (event.type !== 'image-save') return
      const next = { index: event.index + 1, count: event.count }
      if (next.index <= next.count) screen.wait(`waiting for ${imageLabel(next)}`)
    },
    raw() {},
    flush: () => screen.settle(),
    async end(document) {
      notices.end(document)
      await screen.close()
    },
    async error(error, partial) {
      notices.error(error, partial)
      await screen.closeAfterError()
    },
  }
}

interface JobOutputParts {
  readonly screen: Screen
  readonly notices: Notices
  /** Formats text from the gateway: unchanged, or sanitised for a terminal. */
  readonly show: (text: string) => string
  readonly clock: Clock
  /** Print everything about the job, or only its id, for a script that will look it up. */
  readonly what: 'report' | 'id'
}

/** Commands that do not wait for a job: its state when the command ends. */
export function createJobOutput({ screen, notices, show, clock, what }: JobOutputParts): Output {
  const print = (lines: readonly string[]) => {
    screen.text(lines.map((line) => `${oneLine(show(line))}\n`).join(''))
  }
  const report = (document: VideoDocument | TextDocument) =>
    print(isTextDocument(document) ? responseLines(document) : reportLines(document, clock.now() / 1000))
  return {
    event: (event) => notices.event(event),
    raw() {},
    flush: () => screen.settle(),
    async end(document) {
      if (isJob(document) && what === 'id') print([document.id ?? ''])
      else if (isJob(document)) report(document)
      await screen.close()
    },
    async error(error, partial) {
      // Looking up a failed job is a success, so its state is printed.
      if (partial !== undefined && isJob(partial) && what === 'report') report(partial)
      notices.error(error)
      await screen.closeAfterError()
    },
  }
}

function isJob(document: OutputDocument): document is VideoDocument | TextDocument {
  return /^(?:video|response) (?!list)/.test(document.command)
}

/** A response object, for people and for scripts: a name and a value on each line. */
function responseLines({ id, model, state, response }: TextDocument): string[] {
  const { status, created_at, completed_at, error, incomplete_details } = objectOf(response)
  const time = (seconds: unknown) => (typeof seconds === 'number' ? isoTime(Math.floor(seconds)) : undefined)
  const reason = objectOf(error)['message'] ?? objectOf(incomplete_details)['reason']
  const rows = {
    id: id ?? undefined,
    model: model ?? undefined,
    state: state === null ? undefined : sanitise(formatState({ state, status: stringOf(status) ?? null })),
    created: time(created_at),
    completed: time(completed_at),
    reason: stringOf(reason),
  }
  return Object.entries(rows).flatMap(([name, value]) => (value === undefined ? [] : [row(name, value)]))
}

/** A name and a value on each line, for people and for scripts. Times are in Unix seconds. */
function reportLines(document: VideoDocument, now: number): string[] {
  const { id, model, state, status, progress, expires_at, files, failures } = document
  return [
    row('id', id),
    ...(model === null ? [] : [row('model', model)]),
    // Always sanitised: no script needs the gateway's own name of a state unchanged.
    row('state', sanitise(formatState({ state, status }))),
    ...(progress === null ? [] : [row('progress', `${progress}%`)]),
    ...(expires_at === null ? [] : [row('expires', expiryText(expires_at, now))]),
    ...files.map(({ path }) => row('file', path)),
    ...failures.map(({ message }) => row('reason', message)),
  ]
}

function row(name: string, value: string): string {
  return `${name.padEnd(9)} ${value}`
}

function expiryText(expiresAt: number, now: number): string {
  const left = expiresAt - now
  const away = left > 0 ? `in ${roundedDuration(left)}` : `${roundedDuration(-left)} ago`
  return `${isoTime(expiresAt)} (${away})`
}

function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]+/g, ' ')
}
