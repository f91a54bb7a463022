import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { runProgram } from '../../src/program.ts'
import { commandPages, proseOf, readPage, shellBlocks } from '../support/pages.ts'
import { programCommands } from '../support/program-tree.ts'
import { isInstalled } from '../support/shell-session.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'

/**
 * What a shell would run: every word of `modelgate` is written down, in one write for both sides of a pipe, and nothing
 * else is run. Loops over what other programs print run once.
 */
const stubs = `
make_stubs() {
  modelgate() { printf '%s\\0' "$@" $'\\n' >> "$CALLS"; echo '{}'; }
  npx() { if [ "$1" = modelgate ]; then "$@"; fi; }
  for name in npm jq curl git openssl cat pass xargs ffmpeg docker sudo tee sleep kill cp mkdir rm redis-server; do
    eval "$name() { echo 1; }"
  done
  read() { [ -z "$(builtin printf %s "$HAS_READ")" ] || return 1; HAS_READ=1; eval "\${!#}=1"; }
}
`

/** The calls of each script, all of them run by one shell, each in a process and a folder of its own. */
function callsIn(scripts: readonly string[]): string[][][] {
  const folder = temporaryFolder()
  writeFiles(folder, Object.fromEntries(scripts.map((script, at) => [`${at}.sh`, script])))
  const driver = `${stubs}
for at in $(seq 0 ${scripts.length - 1}); do
  mkdir "$FOLDER/$at"
  (CALLS="$FOLDER/$at.calls"; : > "$CALLS"; builtin cd "$FOLDER/$at"; make_stubs; . "$FOLDER/$at.sh"; wait)
done`
  const { status, stderr } = spawnSync('bash', ['-c', driver], {
    cwd: folder,
    env: { PATH: process.env['PATH'], FOLDER: folder, HOME: temporaryFolder() },
    input: '',
    timeout: 60_000,
  })
  if (status === null) throw new Error('A script does not end.')
  if (/syntax error/.test(String(stderr))) throw new Error(String(stderr))
  return scripts.map((_, at) =>
    readFileSync(join(folder, `${at}.calls`), 'utf8')
      .split('\n\0')
      .slice(0, -1)
      .map((call) => call.split('\0').slice(0, -1)),
  )
}

describe.skipIf(!isInstalled('bash'))('every command line of the pages is one that the program takes', () => {
  // The commands are found and their flags read, and then nothing is done.
  beforeAll(() => {
    const { action } = Command.prototype
    vi.spyOn(Command.prototype, 'action').mockImplementation(function (this: Command) {
      return action.call(this, () => {})
    })
  })
  afterAll(() => {
    vi.restoreAllMocks()
  })

  test.each([...Map.groupBy(shellBlocks(), ({ page }) => page)])('%s', async (_, blocks) => {
    const calls = callsIn(blocks.map(({ script }) => script))
    const wrong: unknown[] = []
    for (const [at, { line, script }] of blocks.entries()) {
      if (calls[at]!.length === 0 && /^(?:[^#\n"']*\| |[^#\n"'|]*\$\()?(?:npx )?modelgate /m.test(script))
        wrong.push([line, 'calls nothing'])
      for (const argv of calls[at]!)
        await runProgram(argv, testContext()).catch((error: unknown) =>
          wrong.push([line, argv, String(error)]),
        )
    }
    expect(wrong).toEqual([])
  })

  test('a flag that is none is noticed', async () => {
    expect(callsIn(['echo "a b" | modelgate generate --sparkle "two words"  # why'])).toEqual([
      [['generate', '--sparkle', 'two words']],
    ])
    await expect(runProgram(['generate', '--sparkle'], testContext())).rejects.toThrow('--sparkle')
  })
})

/** Of other programs, such as install.sh. */
const foreign: ReadonlySet<string> = new Set(['--global', '--prefix', '--no-attestation', '--uninstall'])

test.each(commandPages)('%s names no flag that there is not', async (page) => {
  const flags = (await programCommands()).flatMap(({ options }) => options.map(({ flag }) => flag))
  const known = new Set(['--help', '--version', ...flags])
  const inline = [...proseOf(readPage(page)).matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!)
  const named = inline
    .filter((code) => /^(?:modelgate|generate|respond|image|video|response|sandbox|models|--)/.test(code))
    .flatMap((code) => code.match(/(?<![\w-])--[a-z][\w-]*/g) ?? [])
  const missing = named.filter(
    (flag) => !known.has(flag) && !known.has(flag.replace(/^--no-/, '--')) && !foreign.has(flag),
  )
  expect(missing).toEqual([])
})
