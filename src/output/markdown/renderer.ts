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

export type MarkdownRenderer = ReturnType<typeof createMarkdownRenderer>

/**
 * Shows Markdown while it comes. Only ever appends: what has been written is never changed. Each stage holds back no more
 * than it must: the block parser as much of a line as shows what it is; the inline stream from a mark to the one that
 * answers it, up to a limit; the line writer a word; the block writer a line of code in a known language, and the first
 * rows of a table.
 */
export function createMarkdownRenderer(options: MarkdownOptions) {
  const { columns, isTerminal, colors } = options
  let out = ''
  const writer = new LineWriter(columns(), isTerminal, (text) => void (out += text))
  const languages = new Map<string, (() => CodeHighlighter) | undefined>()
  /** Colours are being loaded: what follows in the text waits for them. */
  let loading: Promise<void> | undefined
  let waiting = ''
  let parser: BlockParser
  /** The first characters, as long as they may be those of JSON, which is no Markdown. */
  let opening: string | undefined
  let isJson = false
  /** In JSON: what waits for its other half. */
  let unpaired = ''

  const begin = () => {
    const write = createBlockWriter(writer, options, (name) => languages.get(name)?.())
    parser = new BlockParser((event) => {
      write(event)
      if (event.type === 'code-begin' && colors) load(languageOf(event.fence?.info ?? ''))
    })
    opening = ''
    isJson = false
    unpaired = ''
  }
  const load = (language: string) => {
    if (language === '' || languages.has(language)) return
    const own = import('./code-highlight.ts')
      .then(({ loadLanguage }) => loadLanguage(language))
      .catch(() => undefined)
      .then((loaded) => {
        languages.set(language, loaded)
        if (loading !== own) return
        loading = undefined
        parse()
      })
    loading = own
  }
  const parse = (isAll = false) => {
    while (waiting !== '' && (isAll || loading === undefined)) {
      const end = waiting.indexOf('\n') + 1 || waiting.length
      const line = waiting.slice(0, end)
      waiting = waiting.slice(end)
      parser.push(line)
    }
  }
  const take = (text: string) => {
    writer.columns = columns()
    if (!isJson) {
      waiting += text
      return parse()
    }
    const all = unpaired + text
    unpaired = unpairedEnd(all)
    writer.verbatim(all.slice(0, all.length - unpaired.length))
  }
  const takeOpening = () => {
    const begun = opening ?? ''
    opening = undefined
    take(begun)
  }
  const writeOut = () => {
    const text = out
    out = ''
    if (text !== '') options.write(text)
  }

  begin()
  return {
    /** In pieces of any length. Control characters are shown, not obeyed. */
    push(text: string): void {
      if (opening === undefined) take(text)
      else {
        opening += text
        isJson = /^\s*(?:\{|\[\s*["[{])/.test(opening)
        if (isJson || /^\s*(?:[^\s[]|\[\s*\S)/.test(opening)) takeOpening()
      }
      writeOut()
    },
    /** Writes all that is held back, without colours that are still being loaded. What follows is another text. */
    end(): void {
      takeOpening()
      writer.verbatim(unpaired)
      parse(true)
      parser.end()
      loading = undefined
      writer.endLine()
      begin()
      writeOut()
    },
    async settle(): Promise<void> {
      while (loading !== undefined) await loading
      writeOut()
    },
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
  return createMarkdownRenderer({
    columns: isTerminal ? columns : () => Number(/^[1-9]\d{0,3}$/.exec(env.COLUMNS ?? '')) || usualColumns,
    isTerminal,
    colors: wantsColour(context, { isTerminal: true }),
    hyperlinks: hasHyperlinks(context),
    write,
  })
}
