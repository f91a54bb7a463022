import { spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { codeCache, launcher } from './spawn-program.ts'

/** Runs a script beside a file `list` of three lines; `ask` shows a text request and `draw` an image request, unsent. */
async function run(shell: string, script: string, list = 'one\ntwo\nthree\n') {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'list'), list)
  const functions = `
    ask() { "$NODE" "$LAUNCHER" respond --sandbox --dry-run "$@"; }
    draw() { "$NODE" "$LAUNCHER" image create --sandbox --dry-run "$@"; }
  `
  const child = spawn(shell, ['-c', functions + script], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      NODE: process.execPath,
      LAUNCHER: launcher,
      ...codeCache,
    },
  })
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  const prompts = [...stdout.matchAll(/^ {4}"(?:input|prompt)": (".*"),?$/gm)].map(
    ([, json]) => JSON.parse(json!) as string,
  )
  const notes = stderr.split('\n').filter((line) => line !== '')
  return { prompts, notes }
}

const [joined, leftAlone] = [/^modelgate: Joined 14 bytes of /, /^modelgate: Standard input was left unread/]
const items = ['item one', 'item two', 'item three']

const known = ['bash', 'dash', 'zsh'].filter(
  (shell) => process.platform !== 'win32' && spawnSync(shell, ['-c', 'true']).status === 0,
)

describe.each(known)('in %s', (shell) => {
  test.runIf(process.platform === 'linux')('`while read` over a file calls once for each line', async () => {
    const { prompts, notes } = await run(shell, 'while read l; do ask "item $l"; done < list')
    expect(prompts).toEqual(items)
    // Nothing is left when the last line has been read.
    expect(notes).toEqual([expect.stringMatching(leftAlone), expect.stringMatching(leftAlone)])
  })

  test.runIf(process.platform === 'linux')('-q at the end silences the note', async () => {
    expect(await run(shell, 'while read l; do ask "item $l" -q; done < list')).toEqual({
      prompts: items,
      notes: [],
    })
  })

  test.runIf(process.platform === 'linux')(
    'what another program has left of a file is left alone',
    async () => {
      const { prompts, notes } = await run(shell, '{ head -n 1 >/dev/null; ask x; ask -; } < list')
      expect(prompts).toEqual(['x', 'two\nthree\n'])
      expect(notes).toEqual([expect.stringMatching(leftAlone)])
    },
  )

  test.each([
    ['MODELGATE_NO_STDIN=1; export MODELGATE_NO_STDIN', ''],
    [':', '--no-stdin'],
  ])('a loop over a pipe calls once for each line with %s %s', async (setting, flag) => {
    const script = `${setting}; cat list | while read l; do ask ${flag} "item $l"; done`
    expect(await run(shell, script)).toEqual({ prompts: items, notes: [] })
  })

  test('a loop over a pipe without them takes the rest, and says so', async () => {
    const { prompts, notes } = await run(shell, 'cat list | while read l; do ask "item $l"; done')
    expect(prompts).toEqual(['two\nthree\n\nitem one'])
    expect(notes).toEqual(['modelgate: Joined 10 bytes of standard input (in a loop: --no-stdin).'])
  })

  test.each([
    'cat list | while read l; do draw "item $l"; done',
    'while read l; do draw "item $l"; done < list',
  ])('images are made for each line: %s', async (script) =>
    expect(await run(shell, script)).toEqual({ prompts: items, notes: [] }),
  )

  test.each([
    ['a fresh file', 'ask x < list'],
    ['a pipe', 'cat list | ask x'],
    ['a here-document', 'ask x <<END\none\ntwo\nthree\nEND'],
  ])('%s is joined', async (_, script) => {
    const { prompts, notes } = await run(shell, script)
    expect(prompts).toEqual(['one\ntwo\nthree\n\nx'])
    expect(notes).toEqual([expect.stringMatching(joined)])
  })

  test('a large here-document, which is a file that has been removed, is joined', async () => {
    const lines = 'line\n'.repeat(40_000)
    const { prompts } = await run(shell, `ask x <<END\n${lines.slice(0, 120_000)}END`)
    expect(prompts).toEqual([`${lines.slice(0, 120_000)}\nx`])
  })

  test.each([
    ['an empty file', 'ask x < list'],
    ['/dev/null', 'ask x < /dev/null'],
    ['nothing at all', 'ask x <&-'],
  ])('%s adds nothing, and nothing is said', async (_, script) => {
    expect(await run(shell, script, '')).toEqual({ prompts: ['x'], notes: [] })
  })
})
