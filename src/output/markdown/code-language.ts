import type { StreamParser } from '@codemirror/streamparser'

export type Parser = StreamParser<unknown>

/** Names of one language in each line, as fences give them, and what loads its parser when it is needed first. */
const languages: readonly (readonly [names: string, load?: () => Promise<Parser>])[] = [
  ['bash sh shell zsh ksh', async () => (await import('@codemirror/legacy-modes/mode/shell')).shell],
  ['c h', async () => (await import('@codemirror/legacy-modes/mode/clike')).c],
  ['clojure clj', async () => (await import('@codemirror/legacy-modes/mode/clojure')).clojure],
  ['cmake', async () => (await import('@codemirror/legacy-modes/mode/cmake')).cmake],
  ['cpp c++ cc cxx hpp', async () => (await import('@codemirror/legacy-modes/mode/clike')).cpp],
  ['console shellsession', async () => (await import('@codemirror/legacy-modes/mode/shell')).shell],
  ['csharp c# cs', async () => (await import('@codemirror/legacy-modes/mode/clike')).csharp],
  ['css', async () => (await import('@codemirror/legacy-modes/mode/css')).css],
  ['dart', async () => (await import('@codemirror/legacy-modes/mode/clike')).dart],
  ['diff patch', async () => (await import('@codemirror/legacy-modes/mode/diff')).diff],
  ['dockerfile docker', async () => (await import('@codemirror/legacy-modes/mode/dockerfile')).dockerFile],
  ['erlang erl', async () => (await import('@codemirror/legacy-modes/mode/erlang')).erlang],
  ['fsharp f# fs', async () => (await import('@codemirror/legacy-modes/mode/mllike')).fSharp],
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
    'objectivec objc objective-c',
    async () => (await import('@codemirror/legacy-modes/mode/clike')).objectiveC,
  ],
  ['ocaml ml', async () => (await import('@codemirror/legacy-modes/mode/mllike')).oCaml],
  ['perl pl', async () => (await import('@codemirror/legacy-modes/mode/perl')).perl],
  ['powershell ps1 pwsh', async () => (await import('@codemirror/legacy-modes/mode/powershell')).powerShell],
  ['protobuf proto', async () => (await import('@codemirror/legacy-modes/mode/protobuf')).protobuf],
  ['python py python3', async () => (await import('@codemirror/legacy-modes/mode/python')).python],
  ['r', async () => (await import('@codemirror/legacy-modes/mode/r')).r],
  ['ruby rb', async () => (await import('@codemirror/legacy-modes/mode/ruby')).ruby],
  ['rust rs', async () => (await import('@codemirror/legacy-modes/mode/rust')).rust],
  ['scala', async () => (await import('@codemirror/legacy-modes/mode/clike')).scala],
  ['scss', async () => (await import('@codemirror/legacy-modes/mode/css')).sCSS],
  [
    'sql mysql postgres postgresql psql sqlite',
    async () => (await import('@codemirror/legacy-modes/mode/sql')).pgSQL,
  ],
  ['swift', async () => (await import('@codemirror/legacy-modes/mode/swift')).swift],
  ['toml', async () => (await import('@codemirror/legacy-modes/mode/toml')).toml],
  ['typescript ts tsx', async () => (await import('@codemirror/legacy-modes/mode/javascript')).typescript],
  ['xml svg', async () => (await import('@codemirror/legacy-modes/mode/xml')).xml],
  ['yaml yml', async () => (await import('@codemirror/legacy-modes/mode/yaml')).yaml],
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
  return await languageNamed(name)?.[1]?.()
}

export function isSameLanguage(one: string, other: string): boolean {
  const [first, second] = [one, other].map((name) => languageNamed(name) ?? name.toLowerCase())
  return first === second
}

/** The name of the language that a fence gives: `python`, also of `{.python}` and `python title="a.py"`. */
export function languageOf(info: string): string {
  return /^[{.]*([^\s{},:]+)/.exec(info)?.[1] ?? ''
}
