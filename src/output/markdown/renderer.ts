import { wantsColour, type Context } from '../../context.ts'
import { LineWriter } from '../line-writer.ts'
import { BlockParser, unpairedEnd } from './block-parser.ts'
import { createBlockWriter, type Abilities } from './block-writer.ts'
import type { CodeHighlighter } from './code-highlight.ts'
import { languageOf } from './code-language.ts'
import { hasHyperlinks } from '../terminal-abilities.ts'

export interface MarkdownOptions extends Abilities {
  readonly columns: () => number
  readonly isTerminal: boolean
  readonly write: (text: string) => void
}

/**
 * Shows Markdown while it comes. Only ever appends: what has been written is never changed. Each stage holds back no more
 * than it must: the block parser as much of a line as shows what it is; the inline stream from a mark to the one that
 * answers it, up to a limit; the line writer a word; the block writer a line of code in a known language, and the first
 * rows of a table.
 */
export class MarkdownRenderer {
  readonly #options: MarkdownOptions
  readonly #writer: LineWriter
  readonly #languages = new Map<string, (() => CodeHighlighter) | undefined>()
  /** Colours are being loaded: what follows in the text waits for them. */
  #loading: Promise<void> | undefined
  #waiting = ''
  #out = ''
  #parser!: BlockParser
  /** The first characters, as long as they may be those of JSON, which is no Markdown. */
  #opening: string | undefined
  #isJson = false
  /** In JSON: what waits for its other half. */
  #unpaired = ''

  constructor(options: MarkdownOptions) {
    this.#options = options
    this.#writer = new LineWriter(options.columns(), options.isTerminal, (text) => void (this.#out += text))
    this.#begin()
  }

  /** In pieces of any length. Control characters are shown, not obeyed. */
  push(text: string): void {
    if (this.#opening === undefined) this.#take(text)
    else {
      this.#opening += text
      this.#isJson = /^\s*(?:\{|\[\s*["[{])/.test(this.#opening)
      if (this.#isJson || /^\s*(?:[^\s[]|\[\s*\S)/.test(this.#opening)) this.#takeOpening()
    }
    this.#writeOut()
  }

  /** Writes all that is held back, without colours that are still being loaded. What follows is another text. */
  end(): void {
    this.#takeOpening()
    this.#writer.verbatim(this.#unpaired)
    this.#parse(true)
    this.#parser.end()
    this.#loading = undefined
    this.#writer.endLine()
    this.#begin()
    this.#writeOut()
  }

  async settle(): Promise<void> {
    while (this.#loading !== undefined) await this.#loading
    this.#writeOut()
  }

  #begin(): void {
    const write = createBlockWriter(this.#writer, this.#options, (name) => this.#languages.get(name)?.())
    this.#parser = new BlockParser((event) => {
      write(event)
      if (event.type === 'code-begin' && this.#options.colors) this.#load(languageOf(event.fence?.info ?? ''))
    })
    this.#opening = ''
    this.#isJson = false
    this.#unpaired = ''
  }

  #take(text: string): void {
    this.#writer.columns = this.#options.columns()
    if (!this.#isJson) {
      this.#waiting += text
      return this.#parse()
    }
    const all = this.#unpaired + text
    this.#unpaired = unpairedEnd(all)
    this.#writer.verbatim(all.slice(0, all.length - this.#unpaired.length))
  }

  #takeOpening(): void {
    const opening = this.#opening ?? ''
    this.#opening = undefined
    this.#take(opening)
  }

  #parse(isAll = false): void {
    while (this.#waiting !== '' && (isAll || this.#loading === undefined)) {
      const end = this.#waiting.indexOf('\n') + 1 || this.#waiting.length
      const line = this.#waiting.slice(0, end)
      this.#waiting = this.#waiting.slice(end)
      this.#parser.push(line)
    }
  }

  #load(language: string): void {
    if (language === '' || this.#languages.has(language)) return
    const loading = import('./code-highlight.ts')
      .then(({ loadLanguage }) => loadLanguage(language))
      .catch(() => undefined)
      .then((loaded) => {
        this.#languages.set(language, loaded)
        if (this.#loading !== loading) return
        this.#loading = undefined
        this.#parse()
      })
    this.#loading = loading
  }

  #writeOut(): void {
    const text = this.#out
    this.#out = ''
    if (text !== '') this.#options.write(text)
  }
}

const usualColumns = 80

/**
 * In a pipe (`--render always`) as wide as `COLUMNS` says, and with colours, unless they are switched off: who asks
 * for it shows it with `less -R`. @param columns 0 when it is unknown
 */
export function openRenderer(
  context: Context,
  columns: () => number,
  write: (text: string) => void,
): MarkdownRenderer {
  const { stdout, env } = context
  const { isTerminal } = stdout
  return new MarkdownRenderer({
    columns: isTerminal ? columns : () => Number(/^[1-9]\d{0,3}$/.exec(env.COLUMNS ?? '')) || usualColumns,
    isTerminal,
    colors: wantsColour(context, { isTerminal: true }),
    hyperlinks: hasHyperlinks(context),
    write,
  })
}
