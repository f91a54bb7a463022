import { StringStream, type StreamParser } from '@codemirror/streamparser'
import type { CellRun } from './table-layout.ts'
import { plainLook, type Look } from './line-writer.ts'

/** Colours the lines of one block of code, one after the other: comments and strings may go over several. */
export interface CodeHighlighter {
  /** The pieces of a line, which together are the line. */
  line(text: string): CellRun[]
}

type Parser = StreamParser<unknown>

/** Languages by the names that fences give them; each is loaded when it is needed first. */
const languages: readonly (readonly [names: string, load: () => Promise<Parser>])[] = [
  [
    'bash sh shell zsh ksh console shellsession',
    async () => (await import('@codemirror/legacy-modes/mode/shell')).shell,
  ],
  ['c h', async () => (await import('@codemirror/legacy-modes/mode/clike')).c],
  ['c++ cc cpp cxx hpp', async () => (await import('@codemirror/legacy-modes/mode/clike')).cpp],
  ['c# cs csharp', async () => (await import('@codemirror/legacy-modes/mode/clike')).csharp],
  ['clojure clj', async () => (await import('@codemirror/legacy-modes/mode/clojure')).clojure],
  ['cmake', async () => (await import('@codemirror/legacy-modes/mode/cmake')).cmake],
  ['css', async () => (await import('@codemirror/legacy-modes/mode/css')).css],
  ['dart', async () => (await import('@codemirror/legacy-modes/mode/clike')).dart],
  ['diff patch', async () => (await import('@codemirror/legacy-modes/mode/diff')).diff],
  ['docker dockerfile', async () => (await import('@codemirror/legacy-modes/mode/dockerfile')).dockerFile],
  ['erlang erl', async () => (await import('@codemirror/legacy-modes/mode/erlang')).erlang],
  ['f# fsharp fs', async () => (await import('@codemirror/legacy-modes/mode/mllike')).fSharp],
  ['go golang', async () => (await import('@codemirror/legacy-modes/mode/go')).go],
  ['groovy gradle', async () => (await import('@codemirror/legacy-modes/mode/groovy')).groovy],
  ['haskell hs', async () => (await import('@codemirror/legacy-modes/mode/haskell')).haskell],
  ['html vue svelte', async () => (await import('@codemirror/legacy-modes/mode/xml')).html],
  ['http', async () => (await import('@codemirror/legacy-modes/mode/http')).http],
  [
    'ini properties conf env dotenv',
    async () => (await import('@codemirror/legacy-modes/mode/properties')).properties,
  ],
  ['java', async () => (await import('@codemirror/legacy-modes/mode/clike')).java],
  [
    'javascript js jsx mjs cjs node',
    async () => (await import('@codemirror/legacy-modes/mode/javascript')).javascript,
  ],
  ['json json5 jsonc jsonl', async () => (await import('@codemirror/legacy-modes/mode/javascript')).json],
  ['julia jl', async () => (await import('@codemirror/legacy-modes/mode/julia')).julia],
  ['kotlin kt kts', async () => (await import('@codemirror/legacy-modes/mode/clike')).kotlin],
  ['latex tex', async () => (await import('@codemirror/legacy-modes/mode/stex')).stex],
  ['less', async () => (await import('@codemirror/legacy-modes/mode/css')).less],
  ['lua', async () => (await import('@codemirror/legacy-modes/mode/lua')).lua],
  ['nginx', async () => (await import('@codemirror/legacy-modes/mode/nginx')).nginx],
  [
    'objc objective-c objectivec',
    async () => (await import('@codemirror/legacy-modes/mode/clike')).objectiveC,
  ],
  ['ocaml ml', async () => (await import('@codemirror/legacy-modes/mode/mllike')).oCaml],
  ['perl pl', async () => (await import('@codemirror/legacy-modes/mode/perl')).perl],
  ['powershell ps1 pwsh', async () => (await import('@codemirror/legacy-modes/mode/powershell')).powerShell],
  ['proto protobuf', async () => (await import('@codemirror/legacy-modes/mode/protobuf')).protobuf],
  ['py python python3', async () => (await import('@codemirror/legacy-modes/mode/python')).python],
  ['r', async () => (await import('@codemirror/legacy-modes/mode/r')).r],
  ['rb ruby', async () => (await import('@codemirror/legacy-modes/mode/ruby')).ruby],
  ['rs rust', async () => (await import('@codemirror/legacy-modes/mode/rust')).rust],
  ['scala', async () => (await import('@codemirror/legacy-modes/mode/clike')).scala],
  ['scss', async () => (await import('@codemirror/legacy-modes/mode/css')).sCSS],
  [
    'sql mysql postgres postgresql psql sqlite',
    async () => (await import('@codemirror/legacy-modes/mode/sql')).pgSQL,
  ],
  ['swift', async () => (await import('@codemirror/legacy-modes/mode/swift')).swift],
  ['toml', async () => (await import('@codemirror/legacy-modes/mode/toml')).toml],
  ['ts tsx typescript', async () => (await import('@codemirror/legacy-modes/mode/javascript')).typescript],
  ['xml svg', async () => (await import('@codemirror/legacy-modes/mode/xml')).xml],
  ['yaml yml', async () => (await import('@codemirror/legacy-modes/mode/yaml')).yaml],
]

const byName = new Map(
  languages.flatMap(([names, load]) => names.split(' ').map((name) => [name, load] as const)),
)

/** Loads a language; undefined for one that is not known, whose code is shown as it is. */
export async function loadLanguage(name: string): Promise<(() => CodeHighlighter) | undefined> {
  const load = byName.get(name.toLowerCase())
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
