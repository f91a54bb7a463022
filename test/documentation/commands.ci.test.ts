import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { allNodes, readTree } from '../../src/commands/completion/tree.ts'
import { runProgram } from '../../src/program.ts'
import { codeBlocks, proseOf, readPage, userPages, type CodeBlock } from '../support/pages.ts'
import { loadedProgram } from '../support/program-tree.ts'
import { isInstalled } from '../support/shell-session.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'

/** The gateway's specification and the notes on it name flags of no program. */
const pages = userPages.filter((page) => !/gateway-interface|wire-notes/.test(page))
const shells: ReadonlySet<string> = new Set(['sh', 'bash', 'console'])

/**
 * What a shell would run: every word of `modelgate` is written down, and nothing else is run. Loops over what other
 * programs print run once.
 */
const stubs = `
modelgate() { { printf '%s\\0' "$@"; printf '\\n\\0'; } >> "$CALLS"; echo '{}'; }
npx() { if [ "$1" = modelgate ]; then "$@"; fi; }
for name in npm jq curl git openssl cat pass xargs ffmpeg docker sudo tee sleep kill cp mkdir rm redis-server; do
  eval "$name() { echo 1; }"
done
read() { [ -z "$(builtin printf %s "$HAS_READ")" ] || return 1; HAS_READ=1; eval "\${!#}=1"; }
`

/** Without prompts and what a session printed; of a workflow the steps that run it. */
function scriptOf({ language, text }: CodeBlock): string {
  if (language === 'yaml') return [...text.matchAll(/\brun: (.*)$/gm)].map(([, line]) => line).join('\n')
  if (language !== 'console') return text
  return text
    .split('\n')
    .flatMap((line) => (line.startsWith('$ ') ? [line.slice(2)] : []))
    .join('\n')
}

function callsIn(script: string): string[][] {
  const calls = join(temporaryFolder(), 'calls')
  const { status, stderr } = spawnSync('bash', ['-c', `: > "$CALLS"\n${stubs}\n${script}\nwait`], {
    cwd: temporaryFolder(),
    env: { PATH: process.env['PATH'], CALLS: calls, HOME: temporaryFolder() },
    input: '',
    timeout: 60_000,
  })
  if (status === null) throw new Error(`The script does not end: ${script}`)
  if (/syntax error/.test(String(stderr))) throw new Error(String(stderr))
  return readFileSync(calls, 'utf8')
    .split('\n\0')
    .slice(0, -1)
    .map((call) => call.split('\0').slice(0, -1))
}

function hasCommands({ language, text }: CodeBlock): boolean {
  if (language === 'yaml') return /\brun: .*\bmodelgate /.test(text)
  return shells.has(language) || (language === '' && /^modelgate /m.test(text))
}

const workflows = ['examples/workflow.yaml', 'examples/pipelines/workflow.yaml']
const blocks = pages
  .flatMap((page) => codeBlocks(readPage(page)).map((block) => ({ page, ...block })))
  .concat(workflows.map((page) => ({ page, language: 'yaml', text: readPage(page), line: 1 })))
  .filter(hasCommands)

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

  test.each(blocks)('$page:$line', async (block) => {
    const calls = callsIn(scriptOf(block))
    const named = scriptOf(block).match(/^(?:[^#\n"']*\| |[^#\n"'|]*\$\()?(?:npx )?modelgate /gm) ?? []
    expect(calls.length).toBeGreaterThanOrEqual(named.length > 0 ? 1 : 0)
    const refused: unknown[] = []
    for (const argv of calls) {
      await runProgram(argv, testContext()).catch((error: unknown) => refused.push([argv, String(error)]))
    }
    expect(refused).toEqual([])
  })

  test('a flag that is none is noticed', async () => {
    expect(callsIn('echo "a b" | modelgate generate --sparkle "two words"  # why')).toEqual([
      ['generate', '--sparkle', 'two words'],
    ])
    await expect(runProgram(['generate', '--sparkle'], testContext())).rejects.toThrow('--sparkle')
  })
})

/** Of other programs, such as install.sh. */
const foreign: ReadonlySet<string> = new Set(['--global', '--prefix', '--no-attestation', '--uninstall'])

test.each(pages)('%s names no flag that there is not', async (page) => {
  const nodes = allNodes(readTree(await loadedProgram()))
  const known = new Set(nodes.flatMap(({ flags }) => flags.flatMap(({ names }) => names)))
  const inline = [...proseOf(readPage(page)).matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!)
  const named = inline
    .filter((code) => /^(?:modelgate|generate|respond|image|video|response|sandbox|models|--)/.test(code))
    .flatMap((code) => code.match(/(?<![\w-])--[a-z][\w-]*/g) ?? [])
  const missing = named.filter(
    (flag) => !known.has(flag) && !known.has(flag.replace(/^--no-/, '--')) && !foreign.has(flag),
  )
  expect(missing).toEqual([])
})
