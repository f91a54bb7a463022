import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { completionScripts, type Shell } from '../../../src/commands/completion.ts'
import { commandEntries } from '../../../src/command-entries.ts'
import { programTree } from '../../support/program-tree.ts'
import { isInstalled, typeAndTab } from '../../support/shell-session.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'

const tree = await programTree()
let folder: string

/** Stands in for the program where a script asks it: it knows hostile ids, and nothing of other commands. */
const standIn = String.raw`#!/bin/sh
case "$*" in
  '__complete videos video wait')
    printf '%s\tcompleted, 3 min ago: A boat\n' 'models/veo/operations/a1:b2' 'video two words' 'it'\''s $(touch bad)'
    ;;
  '__complete models image create') printf 'gpt-image-2\tany size\n' ;;
  '__complete models generate') printf 'text;model\tused lately\n' ;;
  '__complete assets run') printf 'hero\tassets/hero.webp\n' ;;
  '__complete assets run pick') printf 'photos\tassets/\n' ;;
  '__complete profiles generate') printf 'work\tgw.example\n' ;;
esac
`

beforeEach(() => {
  folder = temporaryFolder()
  mkdirSync(join(folder, 'bin'))
  writeFileSync(join(folder, 'bin/modelgate'), standIn, { mode: 0o755 })
  writeFiles(folder, {
    ...Object.fromEntries(Object.entries(completionScripts).map(([name, write]) => [name, write(tree)])),
    'question.txt': '',
    'two words.json': '',
  })
})

/** A line, and what one TAB makes of it. `@` stands for what can be read from a file. */
const lines: readonly (readonly [string, string])[] = [
  ['modelgate comp', 'modelgate completion '],
  ['modelgate completion po', 'modelgate completion powershell '],
  ['modelgate generate --ret', 'modelgate generate --retry '],
  ['modelgate --retry al', 'modelgate --retry always '],
  ['modelgate generate --thinking-level HI', 'modelgate generate --thinking-level HIGH '],
  ['modelgate generate --thinking-level=HI', 'modelgate generate --thinking-level=HIGH '],
  ['modelgate respond --reasoning-effort xh', 'modelgate respond --reasoning-effort xhigh '],
  // A model that is called like a command is not one.
  ['modelgate -m respond comp', 'modelgate -m respond completion '],
  ['modelgate --json --model=generate help exit', 'modelgate --json --model=generate help exit-codes '],
  ['modelgate generate -o que', 'modelgate generate -o question.txt '],
  ['modelgate generate @que', 'modelgate generate @question.txt '],
  ['modelgate generate --history two', String.raw`modelgate generate --history two\ words.json `],
  ['modelgate generate --contents @two', String.raw`modelgate generate --contents @two\ words.json `],
  ['modelgate generate --schema two', String.raw`modelgate generate --schema two\ words.json `],
  // The options of another command are not offered.
  ['modelgate sandbox --thinking-l', 'modelgate sandbox --thinking-l'],
  // Nor those of every command, where they mean nothing.
  ['modelgate sandbox --dry', 'modelgate sandbox --dry'],
  ['modelgate schema --retr', 'modelgate schema --retr'],
  ['modelgate sandbox --qui', 'modelgate sandbox --quiet '],
  // Nor those that a command, or every command of a group, refuses.
  ['modelgate video status --bod', 'modelgate video status --bod'],
  ['modelgate response --mode', 'modelgate response --mode'],
  ['modelgate image --mode', 'modelgate image --model '],
  ['modelgate schema --he', 'modelgate schema --help '],
]

/** Values that the program is asked for. */
const liveLines: readonly (readonly [string, string])[] = [
  ['modelgate image create -m gpt', 'modelgate image create -m gpt-image-2 '],
  ['modelgate image create --model=gpt', 'modelgate image create --model=gpt-image-2 '],
  ['modelgate generate --profile w', 'modelgate generate --profile work '],
  ['modelgate generate -m te', String.raw`modelgate generate -m text\;model `],
  ['modelgate video wait mod', 'modelgate video wait models/veo/operations/a1:b2 '],
  ['modelgate video wait models/veo/operations/a1:', 'modelgate video wait models/veo/operations/a1:b2 '],
  ['modelgate video wait vid', String.raw`modelgate video wait video\ two\ words `],
  [String.raw`modelgate video wait video\ tw`, String.raw`modelgate video wait video\ two\ words `],
  ['modelgate video wait it', String.raw`modelgate video wait it\'s\ \$\(touch\ bad\) `],
  // A command that has commands below it.
  ['modelgate run he', 'modelgate run hero '],
  ['modelgate run ado', 'modelgate run adopt '],
  ['modelgate run banner he', 'modelgate run banner hero '],
  ['modelgate run pick ph', 'modelgate run pick photos '],
  ['modelgate run --regenerate he', 'modelgate run --regenerate hero '],
  // Nothing is known.
  ['modelgate video status vid', 'modelgate video status vid'],
]

describe.each(['bash', 'zsh'] as const)('%s (needs it)', (shell) => {
  const isHere = isInstalled(shell)

  test.skipIf(!isHere).each(liveLines)('asks the program: %s', async (line, expected) => {
    const completed = await typeAndTab(shell, join(folder, shell), line, folder)
    expect(completed.replace(/=$/, ' ')).toBe(expected)
    expect(existsSync(join(folder, 'bad'))).toBe(false)
  })

  test.skipIf(!isHere)('accepts the script', () => {
    expect(syntaxCheck(shell)).toEqual('')
  })

  test.skipIf(!isHere).each(lines)('%s', async (line, expected) => {
    const completed = await typeAndTab(shell, join(folder, shell), line, folder)
    // zsh puts "=" after an option, and takes it back at the next space.
    expect(completed.replace(/=$/, ' ')).toBe(expected)
  })
})

describe('bash', () => {
  test.each<[string[], string[]]>([
    [['modelgate', ''], commandEntries.map(({ name }) => name)],
    [
      ['modelgate', 'completion', ''],
      ['bash', 'zsh', 'fish', 'powershell'],
    ],
    [
      ['modelgate', 'generate', '--retry', '=', ''],
      ['never', 'safe', 'always'],
    ],
    [
      ['modelgate', 'sandbox', '-'],
      '--port --faults --latency --seed --record --upstream --replay --pace --max-age --strict -q --quiet --api-key-file --profile --connect-timeout --header --ca-file --allow-http -h --help'.split(
        ' ',
      ),
    ],
    [
      ['modelgate', 'help', '-'],
      ['--all', '--json', '-h', '--help'],
    ],
    [['modelgate', 'generate', '--', '--retry', ''], []],
    [['modelgate', 'generate', '--', '--js'], []],
  ])('offers after %j', (words, expected) => {
    expect(reply(words)).toEqual(expected)
  })
})

describe('fish (needs it)', () => {
  const isHere = isInstalled('fish')

  test.skipIf(!isHere)('accepts the script', () => {
    expect(syntaxCheck('fish')).toEqual('')
  })

  test.skipIf(!isHere).each(lines)('%s', (line, expected) => {
    const { stdout } = spawnSync('fish', ['--no-config', '-c', `source ./fish; complete -C "${line}"`], {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: folder },
    })
    const offered = stdout.split('\n').map((row) => row.split('\t')[0]!)
    const last = expected
      .trim()
      .split(/(?<!\\) /)
      .at(-1)!
      .replaceAll('\\', '')
    expect(offered.filter(Boolean)).toEqual(expected === line ? [] : [last])
  })
})

test.skipIf(!isInstalled('fish')).each([
  ['modelgate image create -m gpt', ['gpt-image-2\tany size']],
  ['modelgate video wait vid', ['video two words\tcompleted, 3 min ago: A boat']],
  ['modelgate video wait it', [`it's $(touch bad)\tcompleted, 3 min ago: A boat`]],
  ['modelgate video status vid', []],
])('fish shows what the program says (needs fish): %s', (line, expected) => {
  const { stdout } = spawnSync('fish', ['--no-config', '-c', `source ./fish; complete -C "${line}"`], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: `${folder}/bin:${process.env['PATH']}`, HOME: folder },
  })
  expect(stdout.split('\n').filter(Boolean)).toEqual(expected)
  expect(existsSync(join(folder, 'bad'))).toBe(false)
})

test.skipIf(!isInstalled('pwsh'))('powershell offers the words of an option (needs pwsh)', () => {
  const code = `. ./powershell.ps1
(TabExpansion2 'modelgate generate --thinking-level H' 38).CompletionMatches.CompletionText`
  writeFiles(folder, { 'powershell.ps1': completionScripts.powershell(tree) })
  const { stdout } = spawnSync('pwsh', ['-NoProfile', '-Command', code], { cwd: folder, encoding: 'utf8' })
  expect(stdout.trim()).toBe('HIGH')
})

/** What a shell says about the script without running it. */
function syntaxCheck(shell: Shell): string {
  return spawnSync(shell, ['-n', shell], { cwd: folder, encoding: 'utf8' }).stderr
}

/** What the script offers for the last of the words, cut as bash cuts them. */
function reply(words: readonly string[]): string[] {
  const script = `source ./bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _modelgate; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout } = spawnSync('bash', ['-c', script, 'bash', ...words], { cwd: folder, encoding: 'utf8' })
  return stdout.split('\n').filter(Boolean)
}
