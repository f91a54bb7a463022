import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { detectProtocol } from '../terminal-abilities.ts'
import { inCi } from '../../context.ts'
import { OutputClosed } from '../../errors.ts'
import type { OutputDocument, OutputEvent } from '../../events/documents.ts'
import {
  filesInPlace,
  type RunDocument,
  type RunEvent,
  type RunFile,
  type RunInstance,
} from '../../events/run-document.ts'
import type { OwnParts, OwnRenderer } from '../create-output.ts'
import { breakLine } from '../line-breaks.ts'
import type { Annotate, Notices } from '../notices.ts'
import type { Result } from '../output.ts'
import { stylesFor, type LiveLine, type Styles, type Tone } from '../screen.ts'
import { gap, oneLine, tabbedText, tableText, type Column, type Columns } from '../table-cells.ts'
import { RunBoard } from './board.ts'
import { instanceLine, rateLine, summaryLines, words, type RunLine } from './run-lines.ts'

/** How many annotations GitHub shows of a step. */
const maxAnnotations = 9

const lineLimit = 4_000

export const runRenderer: OwnRenderer = (parts) => {
  const pictures = parts.quiet || parts.warningsOnly ? undefined : createResultPictures(parts)
  return { notices: createRunNotices(parts, pictures), result: createRunResult(parts, pictures) }
}

function createRunNotices(parts: OwnParts, pictures: ResultPictures | undefined): Notices {
  const { screen, quiet, warningsOnly, context } = parts
  const { clock, stdout } = context
  // GitHub drops all but the first ones: the error that ends the command must be among them.
  let annotationsLeft = maxAnnotations - 1
  const bounded: Annotate | undefined =
    parts.annotate && ((...annotation) => void (annotationsLeft-- > 0 && parts.annotate!(...annotation)))
  const usual = parts.usual(bounded)
  const board = new RunBoard()
  let isMaking = false
  let isPart = false

  const live: LiveLine = (width, styles, height) => board.draw(clock.monotonic(), width, height, styles)
  const line = ({ text, tone }: RunLine) => screen.line(text, tone, lineLimit)
  const end = (event: Extract<RunEvent, { type: 'instance-end' }>) => {
    const told = instanceLine(event)
    if (told === undefined) return
    if (told.tone === 'error') bounded?.('error', `modelgate run: ${event.instance}`, [told.text])
    // On a terminal the paths on standard output say the rest.
    const isPathSeen = screen.isLive && stdout.isTerminal && !isPart
    const isSeen = isPathSeen && told.tone === 'plain' && event.files.length > 0
    const isWanted = told.tone === 'error' || (!quiet && !warningsOnly && !isSeen)
    if (isWanted) line(told)
    if (event.action === 'generated') pictures?.show(filesInPlace(event))
  }
  return {
    event(event) {
      if (event.type === 'start') return
      if (!isRunEvent(event)) return usual.event(event)
      board.add(event, clock.monotonic())
      if (event.type === 'instance-end') end(event)
      else if (event.type === 'circuit-change' && !quiet) line(rateLine(event))
      else if (event.type === 'lane-change' && !quiet && !warningsOnly && !screen.isLive)
        line(rateLine(event))
      // Before that, somebody may be asked.
      if (event.type === 'plan-make') {
        screen.rest()
        isMaking = false
        isPart = event.part !== null
      } else isMaking = true
      if (isMaking && screen.isLive) screen.wait(live)
    },
    end(document) {
      screen.rest()
      if (!quiet && !warningsOnly && isRun(document)) summaryLines(document).forEach(line)
      usual.end(document)
    },
    error(error, partial) {
      screen.rest()
      const isTold = !quiet && !warningsOnly && !(error instanceof OutputClosed)
      if (isTold && partial !== undefined && isRun(partial)) summaryLines(partial).forEach(line)
      annotationsLeft = 1
      usual.error(error, partial)
    },
  }
}

function createRunResult(
  { context, screen, gate, show }: OwnParts,
  pictures: ResultPictures | undefined,
): Result {
  const { stdout } = context
  let isPart = false
  const end = async (document: OutputDocument | undefined) => {
    await pictures?.settle()
    if (document === undefined || !isRun(document)) return
    const { mode, instances, part } = document
    if (mode === 'plan' || mode === 'check') {
      const columns = stdout.isTerminal ? stdout.columns : undefined
      screen.text(gate.report(planTable(instances, columns, stylesFor(context, stdout))))
      // Its outputs are in there.
    } else if (part !== null) screen.text(`${show(part)}\n`)
  }
  return {
    before(event) {
      if (event.type === 'plan-make') isPart = event.part !== null
      if (event.type !== 'instance-end' || isPart) return
      for (const { path } of filesInPlace(event)) screen.text(`${show(path)}\n`)
    },
    end,
    error: (_, partial) => end(partial),
  }
}

function isRun(document: OutputDocument): document is RunDocument {
  return ['run', 'run merge', 'run pull'].includes(document.command)
}

function isRunEvent(event: OutputEvent): event is RunEvent {
  return /^(?:plan-make|instance-(?:start|progress|end)|lane-change|circuit-change)$/.test(event.type)
}

const maxBytes = 20_000_000

type ResultPictures = NonNullable<ReturnType<typeof createResultPictures>>

/** Above the board. Half blocks, which every terminal can show, would push the lines of a run off the screen. */
function createResultPictures({ context, screen }: OwnParts) {
  const { env, cwd } = context
  if (!screen.isLive || inCi(env) || detectProtocol(env) === 'blocks') return undefined
  let drawing: Promise<void> | undefined
  const draw = async (path: string) => {
    const { drawPicture } = await import('../preview/protocols.ts')
    // Of a picture that cannot be shown only the path is printed.
    const drawn = await drawPicture(context, 'auto', await readFile(resolve(cwd, path)))
    if (drawn !== undefined) screen.command(drawn.replace(/\n$/, ''))
  }
  return {
    /** Shows a picture above the board, unless an earlier one is still being drawn: then the newest matters more. */
    show(files: readonly RunFile[]): void {
      const picture = files.find(
        ({ mime_type: type, bytes }) => type.startsWith('image/') && bytes <= maxBytes,
      )
      if (picture === undefined || drawing !== undefined) return
      drawing = draw(picture.path)
        .catch(() => {})
        .finally(() => (drawing = undefined))
    },
    settle: async () => await drawing,
  }
}

const maxName = 40

const columnsOfPlan: readonly Column<RunInstance>[] = [
  ['STATE', ({ state }) => words(state), { tone: toneOf }],
  ['INSTANCE', ({ instance }) => instance, { tone: toneOf, widest: maxName }],
  ['CREATES', ({ creates }) => (creates === 0 ? '' : String(creates)), { tone: toneOf, align: 'right' }],
  ['OUTPUT', ({ output }) => output, { tone: toneOf }],
]

/** What is not fresh, and why; empty if everything is. Safe for a terminal. */
function planTable(instances: readonly RunInstance[], columns: Columns, styles: Styles): string {
  const rows = instances.filter(({ state }) => state !== 'fresh')
  if (columns === undefined) {
    return tabbedText(rows, ({ state, instance, creates, output, reasons }) => {
      return [state, instance, creates, output, reasons.join(' ')]
    })
  }
  const below = ({ reasons }: RunInstance, indent: string) => {
    const start = indent.slice(0, Math.max(gap.length, columns - 20))
    const room = Math.max(8, columns - start.length)
    return reasons.flatMap((reason) =>
      breakLine(oneLine(reason), room).map((part) => styles.dim(start + part)),
    )
  }
  return tableText(rows, columnsOfPlan, { columns, styles, below })
}

function toneOf({ state }: RunInstance): Tone {
  if (state === 'restorable') return 'plain'
  return state === 'new' || state === 'stale' || state === 'unfetched' || state === 'pending'
    ? 'accent'
    : 'warning'
}
