import type { OutputDocument } from '../events/documents.ts'
import type { TextDocument } from '../events/text.ts'
import { objectOf, stringOf } from '../json.ts'
import type { Notices } from './notices.ts'
import { createResultOutput, isTextDocument, type Output, type RendererParts } from './output.ts'
import { stateTone, stylesFor, type Styles, type Tone } from './screen.ts'
import type { Columns } from './table-cells.ts'
import type { VideoDocument } from '../events/video.ts'
import { formatState, isoTime } from '../events/format-job.ts'
import { imageLabel } from '../events/format-image.ts'
import { sanitise } from './gate.ts'
import { roundedDuration } from '../quantities.ts'

/** The path of each file, or the URL of each result, one per line. */
export function createPathsOutput(parts: RendererParts): Output {
  const { screen, show } = parts
  const line = (text: string) => screen.text(`${show(text)}\n`)
  return createResultOutput(parts, {
    event(event) {
      if (event.type === 'image-save' || event.type === 'video-save') line(event.file.path)
      else if (event.type === 'image-link') line(event.link.url)
      if (event.type !== 'image-save') return
      const next = { index: event.index + 1, count: event.count }
      if (next.index <= next.count) screen.wait(`waiting for ${imageLabel(next)}`)
    },
  })
}

/** Of a job that is not waited for: its state, or only its id for a script that will look it up. */
export function createJobOutput(
  { context, screen, notices, gate, show }: RendererParts,
  result: 'job' | 'job-id',
  describe: ((document: OutputDocument, styles: Styles, columns: Columns) => string) | undefined,
): Output {
  const { stdout, clock } = context
  const styles = stylesFor(context, stdout)
  const print = (text: string) => oneLine(show(text))
  const report = (document: OutputDocument) => {
    if (describe !== undefined) {
      const columns = stdout.isTerminal ? stdout.columns : undefined
      return screen.text(gate.report(describe(document, styles, columns)))
    }
    if (!isJob(document)) return
    const now = clock.now() / 1000
    const facts = isTextDocument(document) ? responseRows(document, now) : videoRows(document, now)
    const rows = facts.map(([name, value, tone = 'plain']) => {
      return value == null ? '' : `${name.padEnd(nameWidth)} ${styles[tone](print(value))}\n`
    })
    screen.text(rows.join(''))
  }
  const isReport = result === 'job'
  const own: Notices = {
    ...notices,
    end: (document) => (isReport ? undefined : notices.end(document)),
    error: (error) => notices.error(error),
  }
  return createResultOutput(
    { screen, notices: own },
    {
      async end(document) {
        if (isJob(document) && !isReport) screen.text(`${print(document.id ?? '')}\n`)
        else report(document)
      },
      async error(_, partial) {
        // Looking up a failed job is a success, so its state is printed, if there is one.
        const isKnown = partial !== undefined && (!isJob(partial) || partial.state !== null)
        if (isKnown && isReport) report(partial)
      },
    },
  )
}

function isJob(document: OutputDocument): document is VideoDocument | TextDocument {
  return /^(?:video .*|wait|cancel)$/.test(document.command) && 'state' in document
}

const nameWidth = 'completed'.length

type Row = readonly [name: string, value: string | null | undefined, tone?: Tone]

function responseRows({ id, model, state, response }: TextDocument, now: number): Row[] {
  const { status, created_at, completed_at, error, incomplete_details } = objectOf(response)
  const time = (at: unknown) => (typeof at === 'number' ? timeText(Math.floor(at), now) : null)
  return [
    ['id', id],
    ['model', model],
    ...(state === null ? [] : [stateRow(state, stringOf(status) ?? null)]),
    ['created', time(created_at)],
    ['completed', time(completed_at)],
    ['reason', stringOf(objectOf(error)['message'] ?? objectOf(incomplete_details)['reason'])],
  ]
}

function videoRows(document: VideoDocument, now: number): Row[] {
  const { id, model, state, status, progress, seconds, size, files, failures } = document
  const { created_at, completed_at, expires_at, remixed_from_video_id: source } = document
  const time = (at: number | null) => (at === null ? null : timeText(at, now))
  return [
    ['id', id],
    ['model', model],
    stateRow(state, status),
    ['progress', progress === null ? null : `${progress}%`],
    ['seconds', seconds],
    ['size', size],
    ['remix of', source],
    ['created', time(created_at)],
    [state === 'failed' ? 'failed' : 'completed', time(completed_at)],
    ['expires', time(expires_at)],
    ...files.map(({ path }): Row => ['file', path]),
    ...failures.map(({ message }): Row => ['reason', message]),
  ]
}

/** Always sanitised: no script needs the gateway's own name of a state unchanged. */
function stateRow(state: Parameters<typeof formatState>[0]['state'], status: string | null): Row {
  return ['state', sanitise(formatState({ state, status })), stateTone(state)]
}

function timeText(at: number, now: number): string {
  const left = at - now
  return `${isoTime(at)} (${left > 0 ? `in ${roundedDuration(left)}` : `${roundedDuration(-left)} ago`})`
}

function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]+/g, ' ')
}
