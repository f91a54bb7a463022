import process from 'node:process'
import { describe, expect, test } from 'vitest'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { endOf, isShell } from './spawn-program.ts'

/** Runs a script beside a file `list` of three lines; `ask` shows a text request and `draw` an image request, unsent. */
async function run(shell: string, script: string) {
  const folder = temporaryFolder()
  writeFiles(folder, { list: 'one\ntwo\nthree\n' })
  const functions = `
    ask() { "$NODE" "$LAUNCHER" respond --sandbox --dry-run "$@"; }
    draw() { "$NODE" "$LAUNCHER" image create --sandbox --dry-run "$@"; }
  `
  const program = [shell, '-c', functions + script]
  const { stdout, stderr } = await endOf([], { program, cwd: folder })
  const prompts = stdout.matchAll(/^ {4}"(?:input|prompt)": (".*"),?$/gm)
  return {
    prompts: [...prompts].map(([, json]) => JSON.parse(json!) as string),
    notes: stderr.split('\n').filter((line) => line !== ''),
  }
}

const [joined, leftAlone] = [/^modelgate: Joined 14 bytes of /, /^modelgate: Standard input was left unread/]
const lines = ['one', 'two', 'three']
const items = ['item one', 'item two', 'item three']

const known = ['bash', 'dash', 'zsh'].filter(isShell)

describe.each(known)('in %s', (shell) => {
  test.runIf(process.platform === 'linux')('`while read` over a file calls once for each line', async () => {
    const { prompts, notes } = await run(shell, 'while read l; do ask "item $l"; done < list')
    expect(prompts).toEqual(items)
    // Nothing is left when the last line has been read.
    expect(notes).toEqual([expect.stringMatching(leftAlone), expect.stringMatching(leftAlone)])
  })

  // A pipe in some shells, in others a file that has been removed.
  test('a here-document is joined', async () => {
    const { prompts, notes } = await run(shell, 'ask x <<END\none\ntwo\nthree\nEND')
    expect(prompts).toEqual(['one\ntwo\nthree\n\nx'])
    expect(notes).toEqual([expect.stringMatching(joined)])
  })
})

test.runIf(process.platform === 'linux')(
  'what another program has left of a file is left alone',
  async () => {
    const { prompts, notes } = await run('bash', '{ head -n 1 >/dev/null; ask x; ask -; } < list')
    expect(prompts).toEqual(['x', 'two\nthree\n'])
    expect(notes).toEqual([expect.stringMatching(leftAlone)])
  },
)

test.skipIf(known.length === 0).each<[string, readonly string[], readonly string[]]>([
  ['MODELGATE_NO_STDIN=1; export MODELGATE_NO_STDIN; cat list | while read l; do ask "$l"; done', lines, []],
  ['cat list | while read l; do ask --no-stdin "$l"; done', lines, []],
  ['cat list | while read l; do draw "$l"; done', lines, []],
  ['while read l; do draw "$l"; done < list', lines, []],
  // In a loop that does not say so the first call takes the rest.
  [
    'cat list | while read l; do ask "$l"; done',
    ['two\nthree\n\none'],
    ['modelgate: Joined 10 bytes of standard input (in a loop: --no-stdin).'],
  ],
  ['ask x </dev/null', ['x'], []],
  ['ask x <&-', ['x'], []],
])('%s', async (script, prompts, notes) => {
  expect(await run('bash', script)).toEqual({ prompts, notes })
})
