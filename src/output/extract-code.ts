import { GenerationError } from '../errors.ts'
import type { OutputDocument } from '../events/documents.ts'
import { leadTo, nextCommand } from '../files/next-command.ts'
import { createGrowingText } from '../growing-text.ts'
import { BlockParser } from './markdown/block-parser.ts'
import { isSameLanguage, languageOf } from './markdown/code-language.ts'
import { isRunning, isTextDocument, type Output } from './output.ts'

const showLast = nextCommand(['modelgate', 'log', 'show'])
const maxQuote = 300

/**
 * Passes on only the first fenced code (`--extract`) of the first candidate, for a script that may run it: by whole
 * lines, exactly as they are in the text. @param language undefined for any
 */
export function extractCode(other: Output, language?: string): Output {
  /** `open`: its end has not arrived. */
  let state: 'none' | 'open' | 'closed' = 'none'
  let isInside = false
  let line = ''
  const answer = createGrowingText(maxQuote)
  const extracted = createGrowingText()

  const pass = (code: string) => {
    if (code === '') return
    extracted.add(code)
    other.event({ type: 'text-delta', index: 0, text: code })
  }
  const parser = new BlockParser((event) => {
    if (event.type === 'code-begin') {
      const name = event.fence && languageOf(event.fence.info)
      isInside = state === 'none' && name !== undefined && isSameLanguage(name, language ?? name)
      if (isInside) state = 'open'
    } else if (event.type === 'code' && isInside) {
      line += event.text
      if (!line.endsWith('\n')) return
      pass(line)
      line = ''
    } else if (event.type === 'code-end') {
      if (isInside && event.isClosed) state = 'closed'
      isInside = false
    }
  })
  const withCode = (document: OutputDocument): OutputDocument => {
    if (!isTextDocument(document) || state === 'none') return document
    return { ...document, extracted: extracted.toString() }
  }
  return {
    ...other,
    event(event) {
      if (event.type !== 'text-delta') return other.event(event)
      if (event.index > 0) return
      if (state === 'none') answer.add(event.text)
      // What follows the code is of no interest.
      if (state !== 'closed') parser.push(event.text)
    },
    async end(document) {
      if (isRunning(document)) return other.end(document)
      if (state !== 'closed') parser.end()
      if (state === 'none') throw noCode(answer.toString(), language)
      const isCut = isTextDocument(document) && document.finish_reason === 'length'
      if (state === 'open' && isCut) {
        const message = 'The answer was truncated by the token limit inside the code.'
        const hint = 'Allow more tokens, or ask for less code.'
        throw new GenerationError('nothing_generated', message, { billed: 'yes', hint })
      }
      // A line of the code that has no line feed.
      pass(line)
      await other.end(withCode(document))
    },
    // A line that has broken off is not passed on: it may do something else than the whole one.
    error: (error, partial) => other.error(error, partial && withCode(partial)),
  }
}

function noCode(answer: string, language: string | undefined): GenerationError {
  const what = language === undefined ? 'no fenced code' : `no fenced code block in ${language}`
  const quote = answer.trim().replaceAll(/\s+/g, ' ')
  const begins =
    quote === '' ? '' : ` It begins: ${quote.slice(0, maxQuote)}${quote.length > maxQuote ? '…' : ''}`
  return new GenerationError('nothing_generated', `The answer has ${what}.${begins}`, {
    billed: 'yes',
    ...leadTo('Ask for code in a fenced block. The whole answer, if the log keeps it: ', showLast),
  })
}
