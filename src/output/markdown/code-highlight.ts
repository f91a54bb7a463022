import { StringStream, type StreamParser } from '@codemirror/streamparser'
import { knownLanguage } from './code-language.ts'
import type { CellRun } from './table-layout.ts'
import { plainLook, type Look } from './line-writer.ts'

/** Colours the lines of one block of code, one after the other: comments and strings may go over several. */
export interface CodeHighlighter {
  /** The pieces of a line, which together are the line. */
  line(text: string): CellRun[]
}

type Parser = StreamParser<unknown>

/** Languages, by the first of their names (code-language.ts); each is loaded when it is needed first. */
const parsers: Readonly<Record<string, () => Promise<Parser>>> = {
  bash: async () => (await import('@codemirror/legacy-modes/mode/shell')).shell,
  c: async () => (await import('@codemirror/legacy-modes/mode/clike')).c,
  clojure: async () => (await import('@codemirror/legacy-modes/mode/clojure')).clojure,
  cmake: async () => (await import('@codemirror/legacy-modes/mode/cmake')).cmake,
  console: async () => (await import('@codemirror/legacy-modes/mode/shell')).shell,
  cpp: async () => (await import('@codemirror/legacy-modes/mode/clike')).cpp,
  csharp: async () => (await import('@codemirror/legacy-modes/mode/clike')).csharp,
  css: async () => (await import('@codemirror/legacy-modes/mode/css')).css,
  dart: async () => (await import('@codemirror/legacy-modes/mode/clike')).dart,
  diff: async () => (await import('@codemirror/legacy-modes/mode/diff')).diff,
  dockerfile: async () => (await import('@codemirror/legacy-modes/mode/dockerfile')).dockerFile,
  erlang: async () => (await import('@codemirror/legacy-modes/mode/erlang')).erlang,
  fsharp: async () => (await import('@codemirror/legacy-modes/mode/mllike')).fSharp,
  go: async () => (await import('@codemirror/legacy-modes/mode/go')).go,
  groovy: async () => (await import('@codemirror/legacy-modes/mode/groovy')).groovy,
  haskell: async () => (await import('@codemirror/legacy-modes/mode/haskell')).haskell,
  html: async () => (await import('@codemirror/legacy-modes/mode/xml')).html,
  http: async () => (await import('@codemirror/legacy-modes/mode/http')).http,
  ini: async () => (await import('@codemirror/legacy-modes/mode/properties')).properties,
  java: async () => (await import('@codemirror/legacy-modes/mode/clike')).java,
  javascript: async () => (await import('@codemirror/legacy-modes/mode/javascript')).javascript,
  json: async () => (await import('@codemirror/legacy-modes/mode/javascript')).json,
  julia: async () => (await import('@codemirror/legacy-modes/mode/julia')).julia,
  kotlin: async () => (await import('@codemirror/legacy-modes/mode/clike')).kotlin,
  latex: async () => (await import('@codemirror/legacy-modes/mode/stex')).stex,
  less: async () => (await import('@codemirror/legacy-modes/mode/css')).less,
  lua: async () => (await import('@codemirror/legacy-modes/mode/lua')).lua,
  nginx: async () => (await import('@codemirror/legacy-modes/mode/nginx')).nginx,
  objectivec: async () => (await import('@codemirror/legacy-modes/mode/clike')).objectiveC,
  ocaml: async () => (await import('@codemirror/legacy-modes/mode/mllike')).oCaml,
  perl: async () => (await import('@codemirror/legacy-modes/mode/perl')).perl,
  powershell: async () => (await import('@codemirror/legacy-modes/mode/powershell')).powerShell,
  protobuf: async () => (await import('@codemirror/legacy-modes/mode/protobuf')).protobuf,
  python: async () => (await import('@codemirror/legacy-modes/mode/python')).python,
  r: async () => (await import('@codemirror/legacy-modes/mode/r')).r,
  ruby: async () => (await import('@codemirror/legacy-modes/mode/ruby')).ruby,
  rust: async () => (await import('@codemirror/legacy-modes/mode/rust')).rust,
  scala: async () => (await import('@codemirror/legacy-modes/mode/clike')).scala,
  scss: async () => (await import('@codemirror/legacy-modes/mode/css')).sCSS,
  sql: async () => (await import('@codemirror/legacy-modes/mode/sql')).pgSQL,
  swift: async () => (await import('@codemirror/legacy-modes/mode/swift')).swift,
  toml: async () => (await import('@codemirror/legacy-modes/mode/toml')).toml,
  typescript: async () => (await import('@codemirror/legacy-modes/mode/javascript')).typescript,
  xml: async () => (await import('@codemirror/legacy-modes/mode/xml')).xml,
  yaml: async () => (await import('@codemirror/legacy-modes/mode/yaml')).yaml,
}

/** Loads a language; undefined for one that is not known, whose code is shown as it is. */
export async function loadLanguage(name: string): Promise<(() => CodeHighlighter) | undefined> {
  const load = parsers[knownLanguage(name) ?? '']
  if (load === undefined) return undefined
  const parser = await load()
  return () => createHighlighter(parser)
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
  const known = new Map<string, Look>()
  const lookOf = (token: string | null): Look => {
    if (token === null) return plainLook
    const look = known.get(token)
    if (look !== undefined) return look
    const found = token.split(' ').flatMap((name) => looks.find(([pattern]) => pattern.test(name))?.[1] ?? [])
    known.set(token, found[0] ?? plainLook)
    return known.get(token)!
  }
  /** Whether the parser has failed; it is for editors, where a wrong colour is repaired by typing on. */
  let isBroken = false

  const runsOf = (text: string): CellRun[] => {
    const stream = new StringStream(text, tabSize, indentUnit)
    const runs: CellRun[] = []
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
  return {
    line(text) {
      const plain = [{ text, look: plainLook }]
      if (isBroken || text.length > maxLine) return plain
      try {
        return runsOf(text)
      } catch {
        isBroken = true
        return plain
      }
    },
  }
}
