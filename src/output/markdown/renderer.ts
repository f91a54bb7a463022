import { createBlockParser, unpairedEnd } from './block-parser.ts'
import type { BlockHandler } from './block-handler.ts'
import { createBlockWriter } from './block-writer.ts'
import type { CodeHighlighter } from './code-highlight.ts'
import { languageOf } from './code-language.ts'
import type { Abilities } from './inline-looks.ts'
import { createLineWriter, plainLook } from './line-writer.ts'

export interface MarkdownOptions extends Abilities {
  /** The width to wrap at; 0 when it is unknown, and nothing is wrapped. */
  readonly columns: number
  /** Whether what is written goes to a terminal, which wraps it at the columns. */
  readonly isTerminal: boolean
  readonly write: (text: string) => void
}

/** Shows Markdown while it comes. Only ever appends: what has been written is never changed. */
export interface MarkdownRenderer {
  /** Takes the model's text, in pieces of any length. Control characters in it are shown, not obeyed. */
  push(text: string): void
  /** The width from now on. */
  resize(columns: number): void
  /** Writes all that is held back, and ends the line. What follows is another text. */
  end(): void
  /** Writes what waits for the colours of a language; nothing waits in most calls. */
  settle(): Promise<void>
  /** The same at once: without those colours. */
  hurry(): void
}

type Language = (() => CodeHighlighter) | undefined

/**
 * The stages, each of which holds back no more than it must: the block parser as much of a line as tells what it is;
 * the inline stream from a mark to the one that answers it, up to a limit; the line writer a word; the block writer a
 * line of code in a known language, and the first rows of a table.
 */
export function createMarkdownRenderer(options: MarkdownOptions): MarkdownRenderer {
  let out = ''
  const writer = createLineWriter(options.columns, options.isTerminal, (text) => void (out += text))
  const languages = new Map<string, Language>()
  /** While a language is loaded, all that follows in the text waits for it. */
  let loading: Promise<void> | undefined
  let waiting: (() => void)[] = []
  let isHurried = false

  let parser = createParser()
  /** The first characters, as long as they may be those of JSON, which is no Markdown. */
  let opening: string | undefined = ''
  let isJson = false
  /** In JSON: what waits for its other half. */
  let unpaired = ''

  function createParser() {
    const handler = createBlockWriter(writer, options, (name) => languages.get(name)?.())
    return createBlockParser(whenLoaded(handler))
  }
  /** What the parser tells is done in its order: at once, unless something waits. */
  function whenLoaded(handler: BlockHandler): BlockHandler {
    const entries = Object.entries(handler).map(([name, act]) => {
      const later = (...values: unknown[]) => run(() => (act as (...values: unknown[]) => void)(...values))
      return [name, later]
    })
    const beginCode: BlockHandler['beginCode'] = (fence) =>
      run(() => {
        const language = fence === undefined || !options.colors ? '' : languageOf(fence.info)
        if (language === '' || languages.has(language) || isHurried) return handler.beginCode(fence)
        waiting.unshift(() => handler.beginCode(fence))
        load(language)
      })
    return { ...(Object.fromEntries(entries) as unknown as BlockHandler), beginCode }
  }
  function run(task: () => void) {
    if (loading === undefined && waiting.length === 0) task()
    else waiting.push(task)
  }
  const load = (name: string) => {
    const own = loadLanguage(name).then((language) => {
      languages.set(name, language)
      if (loading === own) goOn()
    })
    loading = own
  }
  const goOn = () => {
    loading = undefined
    for (let task = waiting.shift(); task !== undefined;) {
      task()
      task = loading === undefined ? waiting.shift() : undefined
    }
  }
  const writeOut = () => {
    const text = out
    out = ''
    if (text !== '') options.write(text)
  }
  const take = (text: string) => {
    if (!isJson) return parser.push(text)
    const all = unpaired + text
    unpaired = unpairedEnd(all)
    writer.verbatim(all.slice(0, all.length - unpaired.length), plainLook)
  }
  return {
    push(text) {
      if (opening === undefined) take(text)
      else {
        opening += text
        isJson = /^\s*(?:\{|\[\s*["[{])/.test(opening)
        if (!isJson && !/^\s*(?:[^\s[]|\[\s*\S)/.test(opening)) return
        const all = opening
        opening = undefined
        take(all)
      }
      writeOut()
    },
    resize: (columns) => run(() => void (writer.columns = columns)),
    end() {
      if (opening !== undefined) take(opening)
      if (unpaired !== '') writer.verbatim(unpaired, plainLook)
      unpaired = ''
      parser.end()
      run(() => writer.endLine())
      parser = createParser()
      opening = ''
      isJson = false
      writeOut()
    },
    async settle() {
      while (loading !== undefined) await loading
      writeOut()
    },
    hurry() {
      isHurried = true
      goOn()
      isHurried = false
      writeOut()
    },
  }
}

/** Undefined for a language that is not known, or that cannot be loaded: its code is shown as it is. */
async function loadLanguage(name: string): Promise<Language> {
  try {
    return await (await import('./code-highlight.ts')).loadLanguage(name)
  } catch {
    return undefined
  }
}
