import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { completionScripts, type Shell } from '../../../src/commands/completion.ts'
import { commandEntries } from '../../../src/program.ts'
import { programTree } from '../../support/program-tree.ts'
import { isInstalled, typeAndTab } from '../../support/shell-session.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'

const tree = await programTree()
let folder: string

beforeEach(() => {
  folder = temporaryFolder()
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
  ['modelgate schema --he', 'modelgate schema --help '],
]

describe.each(['bash', 'zsh'] as const)('%s (needs it)', (shell) => {
  const isHere = isInstalled(shell)

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
      '--port --faults --latency --seed --record --upstream --replay --pace --max-age --strict -q --quiet --api-key-file --profile --connect-timeout --ca-file --allow-http -h --help'.split(
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
