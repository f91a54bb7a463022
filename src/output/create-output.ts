import { inCi, type Context, type Sink } from '../context.ts'
import type { TextFile } from '../files/atomic-file.ts'
import { createGate, type Gate, sanitise } from './gate.ts'
import { createJsonOutput, createJsonLinesOutput, createRawOutput } from './json-output.ts'
import { createAnnotate, createNotices, type Annotate, type Notices } from './notices.ts'
import { openRescueSink, type RescuePlace } from './rescue-sink.ts'
import { createTextOutput, writeTextFile } from './text-output.ts'
import { createJobOutput, createPathsOutput } from './files-output.ts'
import type { OutputDocument } from '../events/documents.ts'
import { outputVersion } from '../events/version.ts'
import {
  createResultOutput,
  type Output,
  type OutputMode,
  type RendererParts,
  type Result,
} from './output.ts'
import { createScreen, loadColours, type Screen, type Styles } from './screen.ts'
import type { Columns } from './table-cells.ts'
import type { StepOutput } from './step-output.ts'

import { createWordWrap } from './word-wrap.ts'
import type { openRenderer } from './markdown/renderer.ts'
import { createJobProgress } from './job-progress.ts'
import { ModelgateError } from '../errors.ts'

export interface OutputOptions {
  readonly mode?: 'json' | 'jsonl' | 'raw' | undefined
  /** `files`: their paths; `job`: a report about it; `job-id`: of a job that continues without this program. */
  readonly result?: 'text' | 'files' | 'job' | 'job-id'
  describe?(document: OutputDocument, styles: Styles, columns: Columns): string
  readonly resume?: ((id: string) => { toString(): string }) | undefined
  readonly answer?: ((document: OutputDocument) => string | undefined) | undefined
  readonly jobs?: readonly string[]
  readonly quiet: boolean
  /** Print the token counts at the end, even when quiet. */
  readonly usage: boolean
  /** For the model's text, instead of (text modes) or besides (other modes) standard output. */
  readonly file?: TextFile | undefined
  readonly markdown?: typeof openRenderer | undefined
  readonly extract?: ((other: Output) => Output) | undefined
  /** By default with the environment's key. */
  readonly gate?: Gate | undefined
  /** For what standard output does not take; undefined for what costs nothing to get again. */
  readonly rescue?: RescuePlace | undefined
  readonly step?: StepOutput | undefined
  /** In place of the usual lines and of `result`. */
  readonly own?: OwnRenderer | undefined
}

export type OwnRenderer = (parts: OwnParts) => { readonly notices: Notices; readonly result: Result }

export interface OwnParts extends Omit<RendererParts, 'notices'> {
  readonly quiet: boolean
  /** Omit what the document on standard output contains. */
  readonly warningsOnly: boolean
  readonly annotate: Annotate | undefined
  usual(annotate: Annotate | undefined): Notices
}

const maxIdLength = 500

/** Chooses where the result goes, and the renderer, once. No other code checks for JSON or a terminal. */
export function createOutput(context: Context, options: OutputOptions): Output {
  const { step, file, rescue, mode } = options
  if (step !== undefined) return step.outputTo(outputOn(context, step.sink, options), options)
  // What a file takes has a rescue of its own; with --json, the error document contains the text.
  if (rescue === undefined || file !== undefined || mode === 'json') {
    return outputOn(context, context.stdout, options)
  }
  const sink = openRescueSink(context, rescue)
  const output = outputOn(context, sink, options)
  return {
    ...output,
    async end(document) {
      await output.end(document)
      const rescued = await sink.end()
      if (rescued !== undefined) throw rescued
    },
    async error(error, partial) {
      await output.error(error, partial)
      const rescued = await sink.end().catch((reason: unknown) => reason)
      if (rescued instanceof ModelgateError) output.event({ type: 'warning-add', message: rescued.message })
    },
  }
}

function outputOn(context: Context, sink: Sink, options: OutputOptions): Output {
  const { mode: chosen, gate = createGate(context), quiet, file, extract, result } = options
  const mode: OutputMode = chosen ?? (sink.isTerminal ? 'terminal' : 'plain')
  // Not copied: some of its properties are read only when they are needed.
  const own = Object.create(context, { stdout: { value: sink, enumerable: true } }) as Context
  const output = createRenderer(own, options, createScreen(own, gate, quiet), gate, mode)
  const isPrinter = (result ?? 'text') === 'text' && (mode === 'terminal' || mode === 'plain')
  const whole = file === undefined ? output : writeTextFile(output, file, isPrinter)
  return extract?.(whole) ?? whole
}

function createRenderer(
  context: Context,
  { quiet, usage, result = 'text', describe, resume, answer, jobs, markdown, extract, own }: OutputOptions,
  screen: Screen,
  gate: Gate,
  mode: OutputMode,
): Output {
  const { stderr, env, clock } = context
  const warningsOnly = mode === 'json' || mode === 'jsonl'
  const clean = (text: string) => gate.line(text, maxIdLength)
  const showProgress = createJobProgress({ screen, clock, clean, log: mode !== 'jsonl', jobs })
  // A program that reads JSON there reads no annotations.
  const annotate = warningsOnly ? undefined : createAnnotate(context, gate, screen.command)
  const usual = (chosen: Annotate | undefined) =>
    createNotices(screen, { quiet, usage, warningsOnly, resume, answer, showProgress, annotate: chosen })
  const showOwn = mode === 'terminal' ? sanitise : (text: string) => text
  const showReport = (text: string) => showOwn(gate.report(text))
  const showText = result === 'text' ? showOwn : (text: string) => showOwn(gate.text(text))
  const show = own !== undefined || result === 'job' ? showReport : showText
  const all = { screen, gate, context, show }
  const made = own?.({ ...all, quiet, warningsOnly, annotate, usual })
  const parts = { ...all, notices: made?.notices ?? usual(annotate) }
  if (mode === 'json') return createJsonOutput(parts)
  if (mode === 'jsonl') return createJsonLinesOutput(parts)
  if (mode === 'raw') return createRawOutput(parts)
  if (made !== undefined) return createResultOutput(parts, made.result)
  if (result === 'files') return createPathsOutput(parts)
  if (result === 'job' || result === 'job-id') return createJobOutput(parts, result, describe)
  const columns = () => columnsOf(context)
  const rendered = markdown?.(context, columns, (text) => screen.text(text))
  const isWrapped = mode === 'terminal' && rendered === undefined && extract === undefined
  return createTextOutput(parts, {
    markdown: rendered,
    wrap: isWrapped ? createWordWrap(columns) : undefined,
    // A CI runner interprets some lines as commands, and streamed text could form one.
    showReasoning: Boolean(stderr.isTerminal) && !quiet && !inCi(env),
  })
}

/** 0 when it is unknown, or it is not one that wraps. */
function columnsOf({ stdout, env }: Context): number {
  const { stream, columns } = stdout
  return env.TERM === 'dumb' || (stream !== undefined && !stream.columns) ? 0 : columns
}

export async function loadMarkdown(
  { stdout, env }: Context,
  render: 'auto' | 'always' | 'never',
): Promise<typeof openRenderer | undefined> {
  const isWanted = render === 'auto' ? stdout.isTerminal && env.TERM !== 'dumb' : render === 'always'
  return isWanted ? (await import('./markdown/renderer.ts')).openRenderer : undefined
}

/** A failure before there was an `Output`. @param options.command for the first line of `--jsonl` */
export async function reportError(
  context: Context,
  error: ModelgateError,
  {
    command = 'modelgate',
    json,
    quiet,
  }: Pick<OutputOptions, 'quiet'> & {
    readonly command?: string | undefined
    readonly json?: 'json' | 'jsonl' | undefined
  },
): Promise<void> {
  await loadColours(context)
  const output = createOutput(context, { mode: json, quiet, usage: false })
  if (json === 'jsonl') output.event({ type: 'start', version: outputVersion, command, model: null })
  await output.error(error)
}
