/** Names of one language in each line, as fences give them. Highlighting has a parser for most (code-highlight.ts). */
const languages = `
asm assembly
awk
bash sh shell zsh ksh
batch bat cmd
c h
clojure clj
cmake
cpp c++ cc cxx hpp
console shellsession
csharp c# cs
css
csv
dart
diff patch
dockerfile docker
elixir ex exs
erlang erl
fish
fsharp f# fs
go golang
graphql gql
groovy gradle
haskell hs
hcl terraform tf
html vue svelte
http
ini properties conf env dotenv
java
javascript js jsx mjs cjs node
json json5 jsonc jsonl
julia jl
kotlin kt kts
latex tex
less
lua
makefile make
markdown md
mermaid
nginx
nix
objectivec objc objective-c
ocaml ml
perl pl
php
powershell ps1 pwsh
protobuf proto
python py python3
r
ruby rb
rust rs
scala
scss
solidity sol
sql mysql postgres postgresql psql sqlite
swift
text txt plaintext
toml
typescript ts tsx
vim
xml svg
yaml yml
zig
`

const firstNames = new Map(
  languages
    .trim()
    .split('\n')
    .flatMap((line) => {
      const names = line.split(' ')
      return names.map((name) => [name, names[0]!] as const)
    }),
)

/** The first of the names of a language; undefined for one that is not known. */
export function knownLanguage(name: string): string | undefined {
  return firstNames.get(name.toLowerCase())
}

/** Whether two names are of the same language. */
export function isSameLanguage(one: string, other: string): boolean {
  const known = knownLanguage(one)
  if (known !== undefined) return known === knownLanguage(other)
  return one.toLowerCase() === other.toLowerCase()
}

/** The name of the language that a fence gives: `python`, also of `{.python}` and `python title="a.py"`. */
export function languageOf(info: string): string {
  return /^[{.]*([^\s{},:]+)/.exec(info)?.[1] ?? ''
}
