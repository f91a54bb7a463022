import { OutputClosed, FileError, ModelgateError } from '../errors.ts'
import type { OutputDocument, OutputEvent } from '../events/documents.ts'
import type { MarkdownRenderer } from './markdown/renderer.ts'
import type { Notices } from './notices.ts'
import { isRunning, isTextDocument, type Output } from './output.ts'
import type { Screen } from './screen.ts'
import type { WordWrap } from './word-wrap.ts'
import { createGrowingText, type GrowingText } from '../growing-text.ts'
import type { SavedFile } from '../events/text.ts'
import type { TextFile } from '../files/text-file.ts'

interface TextOutputParts {
  readonly screen: Screen
  readonly notices: Notices
  /** Formats the text: unchanged, or sanitised for a terminal. */
  readonly show: (text: string) => string
  /** Shows the text as Markdown, in place of `show` and `wrap`. */
  readonly markdown?: MarkdownRenderer | undefined
  /** For a terminal: keeps words whole. */
  readonly wrap?: WordWrap | undefined
  /** Whether to show the model's reasoning. */
  readonly showReasoning: boolean
}

/**
 * The model's text on standard output, plain or for a terminal.
 * Text is collected by `event` and written by `flush`, in one piece for all events of a network chunk.
 */
export function createTextOutput(parts: TextOutputParts): Output {
  const { screen, notices, show, markdown, wrap, showReasoning } = parts
  const text = createCandidateText()
  const reasoning = createCandidateText()

  const writeText = (part: string) => {
    if (markdown !== undefined) markdown.push(part)
    else screen.text(wrap?.push(show(part)) ?? show(part))
  }
  /** Nothing of the text is held back any more, and what follows begins a line. */
  const endText = () => {
    markdown?.end()
    markdown?.hurry()
    if (wrap !== undefined) screen.text(wrap.end())
  }
  const writeReasoning = (part: string) => {
    if (part !== '') endText()
    screen.reasoning(part)
  }
  const writePending = () => {
    writeReasoning(reasoning.take())
    writeText(text.take())
  }
  const finishText = async (ending: 'whole' | 'broken-off', endsLine = true) => {
    writeReasoning(reasoning.rest(ending).join(''))
    for (const [index, part] of text.rest(ending).entries()) {
      // Each candidate is a text of its own.
      if (index > 0) markdown?.end()
      writeText(part)
    }
    markdown?.end()
    await markdown?.settle()
    endText()
    if (endsLine && markdown === undefined && text.last !== '' && text.last !== '\n') screen.text('\n')
  }
  return {
    event(event: OutputEvent) {
      switch (event.type) {
        case 'text-delta':
          text.add(event.index, event.text)
          break
        case 'reasoning-delta':
          if (!showReasoning) break
          // Reasoning that follows text is shown after it.
          writeText(text.take())
          reasoning.add(0, event.text)
          break
        case 'tool-delta':
          // A tool call is reported when it is complete.
          break
        default:
          writePending()
          if (betweenTexts.has(event.type)) markdown?.end()
          if (betweenTexts.has(event.type)) markdown?.hurry()
          notices.event(event)
      }
    },
    raw() {},
    async flush() {
      writePending()
      await markdown?.settle()
      await screen.settle()
    },
    async end(document) {
      await finishText('whole')
      // There is no text yet: the id is what a script goes on with.
      if (isRunning(document) && isTextDocument(document)) screen.text(`${show(document.id ?? '')}\n`)
      notices.end(document)
      await screen.close()
    },
    async error(error, partial) {
      // What follows of a response that goes on can be appended, except on a terminal.
      const endsLine = wrap !== undefined || error.exit !== 'running'
      if (!(error instanceof OutputClosed)) await finishText('broken-off', endsLine)
      notices.error(error, partial)
      await screen.closeAfterError()
    },
  }
}

/** Events of what stands between two texts of an answer; others may come in the middle of a sentence. */
const betweenTexts: ReadonlySet<OutputEvent['type']> = new Set([
  'tool-call',
  'code-run',
  'code-result',
  'item-add',
  'file-save',
])

/** Orders the text of several candidates: the first is streamed, the others follow it. */
interface CandidateText {
  add(index: number, text: string): void
  /** The text that can be written now. */
  take(): string
  /** The rest: the end of the first candidate, then the others by index, each on a new line. */
  rest(ending: 'whole' | 'broken-off'): readonly string[]
  /** The last character taken so far; empty when there was no text. */
  readonly last: string
}

function createCandidateText(): CandidateText {
  const others = new Map<number, GrowingText>()
  let pending = ''
  let last = ''

  const taken = (text: string) => {
    if (text !== '') last = text.at(-1)!
    return text
  }
  return {
    add(index, text) {
      if (index === 0) pending += text
      else {
        if (!others.has(index)) others.set(index, createGrowingText())
        others.get(index)!.add(text)
      }
    },
    take() {
      const text = endsIncomplete(pending) ? pending.slice(0, -1) : pending
      pending = pending.slice(text.length)
      return taken(text)
    },
    rest(ending) {
      const finish = ending === 'whole' ? (text: string) => text : withoutHalfCharacter
      const texts = [taken(finish(pending))]
      pending = ''
      for (const [, other] of [...others].sort(([a], [b]) => a - b)) {
        const lineEnd = last === '' || last === '\n' ? '' : '\n'
        texts.push(taken(lineEnd + finish(other.toString())))
      }
      others.clear()
      return texts
    },
    get last() {
      return last
    },
  }
}

/** Hold back half of a surrogate pair, and a CR that may be part of a CRLF. */
function endsIncomplete(text: string): boolean {
  const unit = text.charCodeAt(text.length - 1)
  return (unit >= 0xd800 && unit <= 0xdbff) || unit === 0x0d
}

/** Drop half of a surrogate pair at the end of a truncated reply. */
function withoutHalfCharacter(text: string): string {
  return text.replace(/[\ud800-\udbff]$/, '')
}

/**
 * Writes exactly the model's text to a file (`-o FILE`), and leaves everything else to another renderer.
 * Text that has arrived is never lost: when the command fails it is printed instead. A complete answer that
 * does not match its schema is written all the same.
 * @param textOnly the other renderer would print nothing but the text, so it gets none unless the file fails
 */
export function outputToFile(other: Output, file: TextFile, textOnly: boolean): Output {
  const text = createCandidateText()
  const kept = new Map<number, GrowingText>()
  let committed = false
  /** The error that stopped writing to the file. */
  let failure: FileError | undefined

  /** A failed write does not end the command: the rest of the text has been paid for, too. */
  const writeOut = async () => {
    if (failure !== undefined) return
    await file.flush().catch((error: unknown) => {
      if (!(error instanceof FileError)) throw error
      failure = error
    })
  }
  const commit = async (): Promise<SavedFile> => {
    file.write(text.rest('whole').join(''))
    await writeOut()
    if (failure !== undefined) throw failure
    const { rescued, ...saved } = await file.commit()
    committed = true
    if (rescued !== undefined) throw rescued
    other.event({ type: 'file-save', file: saved })
    return saved
  }
  /** Prints the text instead. */
  const printInstead = async (warning: string | undefined) => {
    // Report the first failure, not a leftover temporary file.
    await file.discard().catch(() => {})
    if (warning !== undefined) other.event({ type: 'warning-add', message: warning })
    for (const [index, part] of kept) other.event({ type: 'text-delta', index, text: part.toString() })
  }
  /** Handles the file when the command fails. */
  const settle = async (error: ModelgateError): Promise<SavedFile | undefined> => {
    const isPrinted = kept.size > 0 && !(error instanceof OutputClosed)
    const unfinished = `${file.path} was not finished; the text that arrived is on standard output`
    if (error.exit === 'running') return void (await file.discard().catch(() => {}))
    if (!isAboutWhole(error)) return void (await printInstead(isPrinted ? unfinished : undefined))
    try {
      return await commit()
    } catch (reason) {
      if (!(reason instanceof ModelgateError)) throw reason
      if (committed) other.event({ type: 'warning-add', message: reason.message })
      else await printInstead(`${reason.message}${isPrinted ? ' The text is on standard output' : ''}`)
      return undefined
    }
  }

  return {
    event(event) {
      if (event.type === 'text-delta') {
        text.add(event.index, event.text)
        if (textOnly) {
          if (!kept.has(event.index)) kept.set(event.index, createGrowingText())
          kept.get(event.index)!.add(event.text)
          return
        }
      }
      other.event(event)
    },
    raw: (json) => other.raw(json),
    async flush() {
      file.write(text.take())
      await writeOut()
      await other.flush()
    },
    async end(document) {
      // The answer will be written by the command that waits for it.
      const isLater = isRunning(document)
      if (!isLater && !isImagesOnly(document)) return other.end(withFile(document, await commit()))
      await file.discard()
      if (!isLater) other.event({ type: 'warning-add', message: noText(file.path) })
      await other.end(document)
    },
    async error(error, partial) {
      const saved = committed ? undefined : await settle(error)
      await other.error(error, saved && partial ? withFile(partial, saved) : partial)
    },
  }
}

/** Whether the answer came whole, and something else is wrong with it. */
function isAboutWhole({ exit, code }: ModelgateError): boolean {
  return exit === 'schema' || code === 'conversation_changed' || code === 'conversation_not_saved'
}

function isImagesOnly(document: OutputDocument): boolean {
  if (!isTextDocument(document) || document.files.length === 0) return false
  return document.candidates.every(({ text }) => text === '')
}

function noText(path: string): string {
  return `The answer has no text, so ${path} is not written; its images are in files of their own.`
}

function withFile(document: OutputDocument, saved: SavedFile): OutputDocument {
  return isTextDocument(document) ? { ...document, files: [...document.files, saved] } : document
}
