import { StringStream } from '@codemirror/streamparser'
import { loadParser, type Parser } from './code-language.ts'
import { plainLook, type Look, type Run } from '../line-writer.ts'

/** Colours the lines of one block of code in their order. The pieces together are the line. */
export type CodeHighlighter = (line: string) => Run[]

export async function loadLanguage(name: string): Promise<(() => CodeHighlighter) | undefined> {
  const parser = await loadParser(name)
  return parser === undefined ? undefined : () => createHighlighter(parser)
}

/** The first match wins; names of tokens are CodeMirror's. */
const looks: readonly (readonly [RegExp, Look])[] = [
  [/^comment/, { sgr: '2;3' }],
  [/^(?:string|character|inserted|quote)/, { sgr: '32' }],
  [/^(?:deleted|invalid|error)/, { sgr: '31' }],
  [/^(?:number|atom|bool|unit|attribute)/, { sgr: '33' }],
  [/^(?:keyword|controlKeyword|modifier|definitionKeyword|moduleKeyword|tag)/, { sgr: '35' }],
  [
    /^(?:def|builtin|standard|type|meta|macroName|heading|variableName\.(?:function|standard|definition))/,
    { sgr: '36' },
  ],
]

/** Longer lines are data; they are shown as they are. */
const maxLine = 2000
const indentUnit = 2
const tabSize = 4

function createHighlighter(parser: Parser): CodeHighlighter {
  const state: unknown = parser.startState === undefined ? true : parser.startState(indentUnit)
  const lookOf = (token: string | null): Look => {
    const names = token?.split(' ') ?? []
    return names.flatMap((name) => looks.find(([pattern]) => pattern.test(name))?.[1] ?? [])[0] ?? plainLook
  }
  /** The parser has failed; it is for editors, where a wrong colour is repaired by typing on. */
  let isBroken = false

  const runsOf = (text: string): Run[] => {
    const stream = new StringStream(text, tabSize, indentUnit)
    const runs: Run[] = []
    if (text === '') parser.blankLine?.(state, indentUnit)
    for (let attempts = 0; !stream.eol();) {
      const look = lookOf(parser.token(stream, state))
      if (stream.pos === stream.start) {
        if (++attempts > 10) throw new Error('The parser does not advance.')
        continue
      }
      attempts = 0
      const last = runs.at(-1)
      const token = stream.current()
      if (last?.look === look) runs[runs.length - 1] = { text: last.text + token, look }
      else runs.push({ text: token, look })
      stream.start = stream.pos
    }
    return runs
  }
  return (text) => {
    const plain = [{ text, look: plainLook }]
    if (isBroken || text.length > maxLine) return plain
    try {
      return runsOf(text)
    } catch {
      isBroken = true
      return plain
    }
  }
}
