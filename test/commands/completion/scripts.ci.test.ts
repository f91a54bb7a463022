import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, test } from 'vitest'
import { projectRoot } from '../../support/pages.ts'
import { isInstalled, typeAndTab } from '../../support/shell-session.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'

const completions = fileURLToPath(new URL('completions/', projectRoot))
const launcher = fileURLToPath(new URL('bin/modelgate.js', projectRoot))
let folder: string

beforeEach(() => {
  folder = temporaryFolder()
  mkdirSync(join(folder, 'bin'))
  const start = `#!/bin/sh\nexec '${process.execPath}' '${launcher}' "$@"\n`
  writeFileSync(join(folder, 'bin/modelgate'), start, { mode: 0o755 })
  writeFiles(folder, {
    '.config/modelgate/config.yaml': 'text_model: text;model\n',
    'modelgate.yaml': `jobs: { hero: { out: hero.webp }, "it's $(touch bad)": {}, 'shop/a:b2': {} }`,
    'question.txt': '',
    'two words.json': '',
    'pictures/a.png': '',
  })
})

/** What only the shell itself knows: a line, and what one TAB makes of it; the rest is asked of `__complete` alone. */
const lines: readonly (readonly [string, string])[] = [
  ['modelgate comp', 'modelgate completion '],
  ['modelgate generate --model=te', String.raw`modelgate generate --model=text\;model `],
  ['modelgate run shop/a:', 'modelgate run shop/a:b2 '],
  ['modelgate run it', String.raw`modelgate run it\'s\ \$\(touch\ bad\) `],
  ['modelgate generate -oque', 'modelgate generate -oquestion.txt '],
  ['modelgate generate -o ~/que', 'modelgate generate -o ~/question.txt '],
  ['modelgate generate --contents=@two', String.raw`modelgate generate --contents=@two\ words.json `],
  ['modelgate inspect pict', 'modelgate inspect pictures/'],
  // Nothing is known.
  ['modelgate video status two', 'modelgate video status two'],
]

/** Those where the shell itself has to cut the line into words. */
const quotedLines: typeof lines = [
  ['true | modelgate comp', 'true | modelgate completion '],
  ['modelgate generate -o "two w', 'modelgate generate -o "two words.json" '],
]

describe.each(['bash', 'zsh'] as const)('%s (needs it)', (shell) => {
  const script = join(completions, shell === 'bash' ? 'modelgate.bash' : '_modelgate')

  test.skipIf(!isInstalled(shell)).each([...lines, ...quotedLines])('%s', async (line, expected) => {
    expect(await typeAndTab(shell, script, line, folder)).toBe(expected)
    expect(existsSync(join(folder, 'bad'))).toBe(false)
  })
})

describe('fish (needs it)', () => {
  const offered = (line: string) => {
    const code = `source '${completions}modelgate.fish'; complete -C $argv[1]`
    const { stdout, stderr } = spawnSync('fish', ['--no-config', '-c', code, line], {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: `${folder}/bin:${process.env['PATH']}`, HOME: folder },
    })
    expect(stderr).toBe('')
    return stdout.split('\n').filter(Boolean)
  }

  test.skipIf(!isInstalled('fish')).each(lines)('%s', (line, expected) => {
    const last = expected
      .trim()
      .split(/(?<!\\) /)
      .at(-1)!
      .replaceAll('\\', '')
    expect(offered(line).map((row) => row.split('\t')[0])).toEqual(expected === line ? [] : [last])
    expect(existsSync(join(folder, 'bad'))).toBe(false)
  })

  test.skipIf(!isInstalled('fish')).each([
    ['modelgate sandbox --stri', '--strict\twith --replay: fail for what was not used or not found'],
    ['modelgate run he', 'hero\thero.webp'],
  ])('shows what it is: %s', (line, expected) => {
    expect(offered(line)).toEqual([expected])
  })
})

test.skipIf(!isInstalled('pwsh')).each([
  ['modelgate comp', 'completion'],
  ['modelgate generate --thinking-level=H', '--thinking-level=HIGH'],
  ['modelgate run it', "'it''s $(touch bad)'"],
])('powershell (needs pwsh): %s', (line, expected) => {
  const code = `. '${completions}modelgate.ps1'
(TabExpansion2 '${line}' ${line.length}).CompletionMatches.CompletionText`
  const { stdout } = spawnSync('pwsh', ['-NoProfile', '-Command', code], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${folder}/bin:${process.env['PATH']}`, HOME: folder },
  })
  expect(stdout.trim()).toBe(expected)
})
