import { OutputClosed, ModelgateError } from '../errors.ts'
import type { OutputDocument } from '../events/documents.ts'
import type { SavedFile } from '../events/text.ts'
import type { TextFile } from '../files/atomic-file.ts'
import type { MarkdownRenderer } from './markdown/renderer.ts'
import { createResultOutput, isRunning, isTextDocument, type Output, type RendererParts } from './output.ts'
import type { WordWrap } from './word-wrap.ts'
import { createGrowingText, type GrowingText } from '../growing-text.ts'

interface TextOutputOptions {
  /** In place of `show` and `wrap`. */
  readonly markdown: MarkdownRenderer | undefined
  readonly wrap: WordWrap | undefined
  readonly showReasoning: boolean
}

export function createTextOutput(
  parts: RendererParts,
  { markdown, wrap, showReasoning }: TextOutputOptions,
): Output {
  const { screen, show } = parts
  const texts = new CandidateTexts()
  const reasoning = new CandidateTexts()
  let last = ''

  const endText = () => {
    markdown?.end()
    if (wrap !== undefined) screen.text(wrap.end())
  }
  const writeReasoning = (part = reasoning.take()) => {
    if (part !== '') endText()
    screen.reasoning(part)
  }
  const writeText = (text = texts.take()) => {
    if (text === '') return
    writeReasoning()
    last = text.at(-1)!
    if (markdown !== undefined) markdown.push(text)
    else screen.text(wrap?.push(show(text)) ?? show(text))
  }
  const finish = async (ending: 'whole' | 'broken-off', endsLine = true) => {
    for (const [index, text] of texts.rest(ending).entries()) {
      if (index > 0) markdown?.end()
      writeText(text)
    }
    writeReasoning(reasoning.rest(ending).join(''))
    await markdown?.settle()
    endText()
    if (endsLine && markdown === undefined && last !== '' && last !== '\n') screen.text('\n')
  }
  const output = createResultOutput(parts, {
    before(event) {
      writeText()
      if (event.type === 'reasoning-delta') {
        if (showReasoning) reasoning.add(0, event.text)
        return
      }
      writeReasoning()
      if (betweenTexts.test(event.type)) markdown?.end()
    },
    async flush() {
      writeText()
      writeReasoning()
      await markdown?.settle()
    },
    async end(document) {
      await finish('whole')
      // There is no text yet: the id is what a script needs next.
      if (isRunning(document)) screen.text(`${show(document.id ?? '')}\n`)
    },
    // The rest of a response that continues can be appended, except on a terminal.
    error: (error) => finish('broken-off', wrap !== undefined || error.exit !== 'running'),
  })
  return {
    ...output,
    event(event) {
      if (event.type === 'text-delta') texts.add(event.index, event.text)
      else output.event(event)
    },
  }
}

/** Events of what stands between two texts of an answer; others may come in the middle of a sentence. */
const betweenTexts = /^(?:tool-call|code-run|code-result|item-add|file-save)$/

/**
 * The file gets the text when all of it has arrived, even if it does not match its schema. Text is never lost: where a
 * file cannot take it, it is printed.
 * @param isPrinter whether the other output would print the text, of which it is told only where it has to
 */
export function writeTextFile(other: Output, file: TextFile, isPrinter: boolean): Output {
  const texts = new CandidateTexts()
  let text: string | undefined
  let isCommitted = false

  const warn = (message: string) => other.event({ type: 'warning-add', message })
  const commit = async (): Promise<SavedFile> => {
    text = texts.rest('whole').join('')
    const { rescued, ...saved } = await file.commit(text)
    isCommitted = true
    if (rescued !== undefined) throw rescued
    other.event({ type: 'file-save', file: saved })
    return saved
  }
  const settle = async (error: ModelgateError): Promise<SavedFile | undefined> => {
    let reason: ModelgateError | undefined
    // The answer came whole, and something else is wrong with it.
    if (error.exit === 'schema' || error.code === 'conversation_not_saved') {
      try {
        return await commit()
      } catch (thrown) {
        if (!(thrown instanceof ModelgateError)) throw thrown
        reason = thrown
      }
    }
    await file.discard()
    if (error.exit === 'running') return undefined
    if (isCommitted) return void warn(reason!.message)
    text ??= texts.rest('broken-off').join('')
    const isPrinted = isPrinter && text !== '' && !(error instanceof OutputClosed)
    if (reason !== undefined) warn(`${reason.message}${isPrinted ? ' The text is on standard output' : ''}`)
    else if (isPrinted) warn(`${file.path} was not finished; the text that arrived is on standard output`)
    if (isPrinted) other.event({ type: 'text-delta', index: 0, text })
    return undefined
  }

  return {
    ...other,
    event(event) {
      // None of them is taken while it comes.
      if (event.type === 'text-delta') texts.add(event.index + 1, event.text)
      if (event.type !== 'text-delta' || !isPrinter) other.event(event)
    },
    async end(document) {
      // The answer will be written by the command that waits for it.
      const isLater = isRunning(document)
      if (!isLater && !isImagesOnly(document)) return other.end(withFile(document, await commit()))
      await file.discard()
      const own = 'its images are in files of their own'
      if (!isLater) warn(`The answer has no text, so ${file.path} is not written; ${own}.`)
      await other.end(document)
    },
    async error(error, partial) {
      const saved = isCommitted ? undefined : await settle(error)
      await other.error(error, saved && partial ? withFile(partial, saved) : partial)
    },
  }
}

function isImagesOnly(document: OutputDocument): boolean {
  if (!isTextDocument(document) || document.files.length === 0) return false
  return document.candidates.every(({ text }) => text === '')
}

function withFile(document: OutputDocument, saved: SavedFile): OutputDocument {
  return isTextDocument(document) ? { ...document, files: [...document.files, saved] } : document
}

/** Orders the text of several candidates: the first can be taken while it comes, the others follow it. */
class CandidateTexts {
  readonly #others = new Map<number, GrowingText>()
  #pending = ''
  #last = ''

  add(index: number, text: string): void {
    if (index === 0) {
      this.#pending += text
      return
    }
    const other = this.#others.get(index) ?? createGrowingText()
    other.add(text)
    this.#others.set(index, other)
  }

  /** What can be written now: not half of a surrogate pair, nor a CR that may be part of a CRLF. */
  take(): string {
    const text = this.#pending.replace(/[\r\ud800-\udbff]$/, '')
    this.#pending = this.#pending.slice(text.length)
    return this.#taken(text)
  }

  /** The rest: the end of the first candidate, then the others by index, each on a new line. */
  rest(ending: 'whole' | 'broken-off'): readonly string[] {
    // A reply that has broken off may end with half of a character.
    const finish = (text: string) => (ending === 'whole' ? text : text.replace(/[\ud800-\udbff]$/, ''))
    const texts = [this.#taken(finish(this.#pending))]
    this.#pending = ''
    for (const [, other] of [...this.#others].sort(([a], [b]) => a - b)) {
      const lineEnd = this.#last === '' || this.#last === '\n' ? '' : '\n'
      texts.push(this.#taken(lineEnd + finish(other.toString())))
    }
    return texts
  }

  #taken(text: string): string {
    if (text !== '') this.#last = text.at(-1)!
    return text
  }
}
