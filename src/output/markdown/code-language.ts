import type { StreamParser } from '@codemirror/streamparser'

export type Parser = StreamParser<unknown>

/** Names of one language in each line, as fences give them, and where its parser is. */
const languages: readonly (readonly [names: string, parser: string, load: () => Promise<object>])[] = [
  ['bash sh shell zsh ksh', 'shell', () => import('@codemirror/legacy-modes/mode/shell')],
  ['c h', 'c', () => import('@codemirror/legacy-modes/mode/clike')],
  ['clojure clj', 'clojure', () => import('@codemirror/legacy-modes/mode/clojure')],
  ['cmake', 'cmake', () => import('@codemirror/legacy-modes/mode/cmake')],
  ['cpp c++ cc cxx hpp', 'cpp', () => import('@codemirror/legacy-modes/mode/clike')],
  ['console shellsession', 'shell', () => import('@codemirror/legacy-modes/mode/shell')],
  ['csharp c# cs', 'csharp', () => import('@codemirror/legacy-modes/mode/clike')],
  ['css', 'css', () => import('@codemirror/legacy-modes/mode/css')],
  ['dart', 'dart', () => import('@codemirror/legacy-modes/mode/clike')],
  ['diff patch', 'diff', () => import('@codemirror/legacy-modes/mode/diff')],
  ['dockerfile docker', 'dockerFile', () => import('@codemirror/legacy-modes/mode/dockerfile')],
  ['erlang erl', 'erlang', () => import('@codemirror/legacy-modes/mode/erlang')],
  ['fsharp f# fs', 'fSharp', () => import('@codemirror/legacy-modes/mode/mllike')],
  ['go golang', 'go', () => import('@codemirror/legacy-modes/mode/go')],
  ['groovy gradle', 'groovy', () => import('@codemirror/legacy-modes/mode/groovy')],
  ['haskell hs', 'haskell', () => import('@codemirror/legacy-modes/mode/haskell')],
  ['html vue svelte', 'html', () => import('@codemirror/legacy-modes/mode/xml')],
  ['http', 'http', () => import('@codemirror/legacy-modes/mode/http')],
  ['ini properties conf env dotenv', 'properties', () => import('@codemirror/legacy-modes/mode/properties')],
  ['java', 'java', () => import('@codemirror/legacy-modes/mode/clike')],
  ['javascript js jsx mjs cjs node', 'javascript', () => import('@codemirror/legacy-modes/mode/javascript')],
  ['json json5 jsonc jsonl', 'json', () => import('@codemirror/legacy-modes/mode/javascript')],
  ['julia jl', 'julia', () => import('@codemirror/legacy-modes/mode/julia')],
  ['kotlin kt kts', 'kotlin', () => import('@codemirror/legacy-modes/mode/clike')],
  ['latex tex', 'stex', () => import('@codemirror/legacy-modes/mode/stex')],
  ['less', 'less', () => import('@codemirror/legacy-modes/mode/css')],
  ['lua', 'lua', () => import('@codemirror/legacy-modes/mode/lua')],
  ['nginx', 'nginx', () => import('@codemirror/legacy-modes/mode/nginx')],
  ['objectivec objc objective-c', 'objectiveC', () => import('@codemirror/legacy-modes/mode/clike')],
  ['ocaml ml', 'oCaml', () => import('@codemirror/legacy-modes/mode/mllike')],
  ['perl pl', 'perl', () => import('@codemirror/legacy-modes/mode/perl')],
  ['powershell ps1 pwsh', 'powerShell', () => import('@codemirror/legacy-modes/mode/powershell')],
  ['protobuf proto', 'protobuf', () => import('@codemirror/legacy-modes/mode/protobuf')],
  ['python py python3', 'python', () => import('@codemirror/legacy-modes/mode/python')],
  ['r', 'r', () => import('@codemirror/legacy-modes/mode/r')],
  ['ruby rb', 'ruby', () => import('@codemirror/legacy-modes/mode/ruby')],
  ['rust rs', 'rust', () => import('@codemirror/legacy-modes/mode/rust')],
  ['scala', 'scala', () => import('@codemirror/legacy-modes/mode/clike')],
  ['scss', 'sCSS', () => import('@codemirror/legacy-modes/mode/css')],
  ['sql mysql postgres postgresql psql sqlite', 'pgSQL', () => import('@codemirror/legacy-modes/mode/sql')],
  ['swift', 'swift', () => import('@codemirror/legacy-modes/mode/swift')],
  ['toml', 'toml', () => import('@codemirror/legacy-modes/mode/toml')],
  ['typescript ts tsx', 'typescript', () => import('@codemirror/legacy-modes/mode/javascript')],
  ['xml svg', 'xml', () => import('@codemirror/legacy-modes/mode/xml')],
  ['yaml yml', 'yaml', () => import('@codemirror/legacy-modes/mode/yaml')],
]

/** The names of other languages, whose code is shown as it is. */
const plainLanguages = (
  'asm assembly,awk,batch bat cmd,csv,elixir ex exs,fish,graphql gql,hcl terraform tf,makefile make,' +
  'markdown md,mermaid,nix,php,solidity sol,text txt plaintext,vim,zig'
).split(',')

const byName = new Map(
  [...languages, ...plainLanguages.map((names) => [names] as const)].flatMap((language) =>
    language[0].split(' ').map((name) => [name, language] as const),
  ),
)

function languageNamed(name: string) {
  return byName.get(name.toLowerCase())
}

export function isKnownLanguage(name: string): boolean {
  return languageNamed(name) !== undefined
}

export async function loadParser(name: string): Promise<Parser | undefined> {
  const [, parser = '', load] = languageNamed(name) ?? []
  return ((await load?.()) as Record<string, Parser> | undefined)?.[parser]
}

export function isSameLanguage(one: string, other: string): boolean {
  const [first, second] = [one, other].map((name) => languageNamed(name) ?? name.toLowerCase())
  return first === second
}

/** The name of the language that a fence gives: `python`, also of `{.python}` and `python title="a.py"`. */
export function languageOf(info: string): string {
  return /^[{.]*([^\s{},:]+)/.exec(info)?.[1] ?? ''
}
