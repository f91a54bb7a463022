import { OutputClosed, ModelgateError } from '../errors.ts'
import type { OutputDocument, OutputEvent } from '../events/documents.ts'
import type { SavedFile } from '../events/text.ts'
import type { TextFile } from '../files/atomic-file.ts'
import type { MarkdownRenderer } from './markdown/renderer.ts'
import { createResultOutput, isRunning, isTextDocument, type Output, type RendererParts } from './output.ts'
import type { WordWrap } from './word-wrap.ts'
import { createGrowingText, type GrowingText } from '../growing-text.ts'

/** A renderer that gets the model's text in order, in place of its events. */
export interface TextRenderer extends Output {
  /** @param isNext whether it is the text of another candidate */
  text(part: string, isNext?: boolean): void
}

interface TextOutputOptions {
  /** Shows the text as Markdown, in place of `show` and `wrap`. */
  readonly markdown?: MarkdownRenderer | undefined
  /** For a terminal: keeps words whole. */
  readonly wrap?: WordWrap | undefined
  readonly showReasoning: boolean
}

/** The model's text on standard output, plain or for a terminal. */
export function createTextOutput(
  parts: RendererParts,
  { markdown, wrap, showReasoning }: TextOutputOptions,
): TextRenderer {
  const { screen, show } = parts
  const reasoning = new CandidateTexts(true)
  let last = ''

  /** Nothing of the text is held back any more, and what follows begins a line. */
  const endText = () => {
    markdown?.end()
    if (wrap !== undefined) screen.text(wrap.end())
  }
  const writeReasoning = (part = reasoning.take()) => {
    if (part !== '') endText()
    screen.reasoning(part)
  }
  const finish = async (ending: 'whole' | 'broken-off', endsLine = true) => {
    writeReasoning(reasoning.rest(ending).join(''))
    await markdown?.settle()
    endText()
    if (endsLine && markdown === undefined && last !== '' && last !== '\n') screen.text('\n')
  }
  const output = createResultOutput(parts, {
    before(event) {
      if (event.type === 'reasoning-delta') {
        if (showReasoning) reasoning.add(0, event.text)
        return
      }
      writeReasoning()
      if (betweenTexts.has(event.type)) markdown?.end()
    },
    async flush() {
      writeReasoning()
      await markdown?.settle()
    },
    async end(document) {
      await finish('whole')
      // There is no text yet: the id is what a script goes on with.
      if (isRunning(document)) screen.text(`${show(document.id ?? '')}\n`)
    },
    // What follows of a response that goes on can be appended, except on a terminal.
    error: (error) => finish('broken-off', wrap !== undefined || error.exit !== 'running'),
  })
  return {
    ...output,
    text(part, isNext = false) {
      writeReasoning()
      if (isNext) markdown?.end()
      last = part.at(-1) ?? last
      if (markdown !== undefined) markdown.push(part)
      else screen.text(wrap?.push(show(part)) ?? show(part))
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

/**
 * Collects the model's text: for a renderer of it, in one piece for all events of a network chunk; or for a file (`-o FILE`),
 * which gets it when all of it has come. Text that has arrived is never lost: where a file cannot take it, the renderer
 * prints it instead. A complete answer that does not match its schema is written all the same.
 */
export function collectText(renderer: Output | TextRenderer, file: TextFile | undefined): Output {
  const printer = 'text' in renderer ? renderer : undefined
  const texts = new CandidateTexts(file === undefined)
  /** What is written to the file, or printed instead, once it has been taken. */
  let all: readonly string[] | undefined
  let isCommitted = false

  const print = (parts: readonly string[]) => {
    for (const [index, part] of parts.entries()) if (part !== '') printer?.text(part, index > 0)
  }
  const warn = (message: string) => renderer.event({ type: 'warning-add', message })
  const commit = async (file: TextFile): Promise<SavedFile> => {
    all = texts.rest('whole')
    const { rescued, ...saved } = await file.commit(all.join(''))
    isCommitted = true
    if (rescued !== undefined) throw rescued
    renderer.event({ type: 'file-save', file: saved })
    return saved
  }
  /** Handles the file when the command fails. */
  const settle = async (file: TextFile, error: ModelgateError): Promise<SavedFile | undefined> => {
    let reason: ModelgateError | undefined
    if (isAboutWhole(error)) {
      try {
        return await commit(file)
      } catch (thrown) {
        if (!(thrown instanceof ModelgateError)) throw thrown
        reason = thrown
      }
    }
    await file.discard()
    if (error.exit === 'running') return undefined
    if (isCommitted) {
      warn(reason!.message)
      return undefined
    }
    all ??= texts.rest('broken-off')
    const isPrinted = printer !== undefined && all.join('') !== '' && !(error instanceof OutputClosed)
    if (reason !== undefined) warn(`${reason.message}${isPrinted ? ' The text is on standard output' : ''}`)
    else if (isPrinted) warn(`${file.path} was not finished; the text that arrived is on standard output`)
    print(all)
    return undefined
  }

  return {
    event(event) {
      if (event.type === 'text-delta') texts.add(event.index, event.text)
      else print([texts.take()])
      if (event.type !== 'text-delta' || printer === undefined) renderer.event(event)
    },
    raw: (json) => renderer.raw(json),
    async flush() {
      print([texts.take()])
      await renderer.flush()
    },
    async end(document) {
      // The answer will be written by the command that waits for it.
      const isLater = isRunning(document)
      if (file === undefined) print(texts.rest('whole'))
      else if (!isLater && !isImagesOnly(document))
        return renderer.end(withFile(document, await commit(file)))
      else {
        await file.discard()
        if (!isLater) warn(noText(file.path))
      }
      await renderer.end(document)
    },
    async error(error, partial) {
      let saved: SavedFile | undefined
      if (file !== undefined) saved = isCommitted ? undefined : await settle(file, error)
      else if (!(error instanceof OutputClosed)) print(texts.rest('broken-off'))
      await renderer.error(error, saved && partial ? withFile(partial, saved) : partial)
    },
  }
}

/** Whether the answer came whole, and something else is wrong with it. */
function isAboutWhole({ exit, code }: ModelgateError): boolean {
  return exit === 'schema' || code === 'conversation_not_saved'
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

/** Orders the text of several candidates: the first may be streamed, the others follow it. */
class CandidateTexts {
  readonly #isStreamed: boolean
  readonly #whole = new Map<number, GrowingText>()
  #pending = ''
  #last = ''

  /** @param isStreamed whether the first is taken while it comes */
  constructor(isStreamed: boolean) {
    this.#isStreamed = isStreamed
  }

  add(index: number, text: string): void {
    if (index === 0 && this.#isStreamed) {
      this.#pending += text
      return
    }
    const whole = this.#whole.get(index) ?? createGrowingText()
    whole.add(text)
    this.#whole.set(index, whole)
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
    for (const [, whole] of [...this.#whole].sort(([a], [b]) => a - b)) {
      const lineEnd = this.#last === '' || this.#last === '\n' ? '' : '\n'
      texts.push(this.#taken(lineEnd + finish(whole.toString())))
    }
    return texts
  }

  #taken(text: string): string {
    if (text !== '') this.#last = text.at(-1)!
    return text
  }
}
