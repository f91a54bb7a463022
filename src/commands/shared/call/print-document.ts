import type { Context } from '../../../context.ts'
import type { OutputDocument, OutputEvent } from '../../../events/documents.ts'
import { outputVersion } from '../../../events/version.ts'
import { createOutput, type OutputOptions } from '../../../output/create-output.ts'
import { createGate, type Gate } from '../../../output/gate.ts'
import { loadColours, stylesFor, type Styles } from '../../../output/screen.ts'
import type { Columns } from '../../../output/table-cells.ts'
import { wrap } from '../../../output/line-breaks.ts'
import { lineLimit } from '../gateway/open-gateway.ts'
import { pathsOf } from '../../../platform.ts'

interface DocumentView extends Partial<Pick<OutputOptions, 'quiet' | 'gate'>> {
  /** For `--jsonl`. */
  readonly events?: readonly OutputEvent[]
}

/** Shows what a command without a request found out: the document, its parts with `--jsonl`, or a text of it. */
export async function printDocument(
  context: Context,
  { json, jsonl }: { readonly json?: true | undefined; readonly jsonl?: true | undefined },
  document: OutputDocument,
  describe: (styles: Styles, columns: Columns) => string,
  { quiet = true, gate, events = [] }: DocumentView = {},
): Promise<void> {
  await loadColours(context)
  const output = createOutput(context, {
    mode: json ? 'json' : jsonl ? 'jsonl' : undefined,
    result: 'job',
    describe: (_, styles, columns) => describe(styles, columns),
    quiet,
    usage: false,
    gate,
  })
  if (jsonl) {
    output.event({ type: 'start', version: outputVersion, command: document.command, model: null })
  }
  for (const event of events) output.event(event)
  const warnings = 'warnings' in document ? document.warnings : []
  for (const message of warnings) output.event({ type: 'warning-add', message })
  await output.end(document)
}

/** A result for people, or a part of it. */
export async function printReport(
  context: Context,
  gate: Gate,
  describe: (styles: Styles, columns: Columns) => string,
): Promise<void> {
  const { stdout } = context
  await loadColours(context)
  stdout.write(
    gate.report(describe(stylesFor(context, stdout), stdout.isTerminal ? stdout.columns : undefined)),
  )
  await stdout.drain()
}

export async function printLine({ stdout }: Context, line: string): Promise<void> {
  stdout.write(`${line}\n`)
  await stdout.drain()
}

/** A line on standard error, which is broken between words on a terminal. */
export function printNote(context: Context, line: string, gate = createGate(context)): void {
  const { stderr } = context
  const clean = gate.line(line, lineLimit)
  stderr.write(`${stderr.isTerminal ? wrap(clean, stderr.columns, /^ */.exec(clean)![0]) : clean}\n`)
}

/** `~` for the home directory, in a path or a text with paths in it. */
export function homePath({ home, platform }: Pick<Context, 'home' | 'platform'>, text: string): string {
  const separator = pathsOf(platform).sep
  return home.length < 2 ? text : text.replaceAll(home + separator, `~${separator}`)
}
