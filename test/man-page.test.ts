import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { helpDocument } from '../src/commands/help/help-tree.ts'
import { isCalled, manPage } from '../build/man-page.ts'
import { projectRoot } from './support/generated-files.ts'
import { loadedProgram } from './support/program-tree.ts'
import { isInstalled } from './support/shell-session.ts'

const path = fileURLToPath(new URL('man/modelgate.1', projectRoot))

function run(program: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  expect([program, status, stderr]).toEqual([program, 0, ''])
  return stdout
}

test.skipIf(spawnSync('mandoc', ['-h']).error !== undefined)(
  'mandoc finds no fault in it (needs mandoc)',
  () => {
    expect(run('mandoc', '-Tlint', '-Wstyle', path)).toBe('')
  },
)

test.skipIf(!isInstalled('groff'))(
  'groff finds no fault in it, and shows it as written (needs groff)',
  () => {
    const shown = run('groff', '-man', '-ww', '-Tascii', '-P-c', '-rLL=200n', path)
    const plain = shown.replaceAll(/.\u0008/g, '').replaceAll(/\s+/g, ' ')
    expect(plain).toContain('modelgate generate -m MODEL -a photo.jpg "What is this?"')
    expect(plain).toContain('-n, --n number number of images (1 to 10; default 1)')
    expect(plain).toContain('7 outcome unknown: sent, then lost')
  },
)

test('it has every command, option, exit code and variable', async () => {
  const page = readFileSync(path, 'utf8').replaceAll('\\-', '-')
  const { commands, exit_codes, environment } = helpDocument(await loadedProgram())
  const leaves = commands.filter((command) => command.name !== '' && isCalled(command))
  expect(leaves.filter(({ name }) => !page.includes(`.SS "modelgate ${name}"\n`))).toEqual([])
  const options = commands.flatMap((command) => command.options.filter(({ common }) => !common))
  expect(options.filter(({ flag }) => !page.includes(`\\fB${flag}\\fR`))).toEqual([])
  expect(exit_codes.filter(({ code }) => !page.includes(`.TP\n\\fB${code}\\fR\n`))).toEqual([])
  expect(environment.filter(({ variables }) => !page.includes(`\\fB${variables.join(', ')}\\fR`))).toEqual([])
})

test('nothing in a text is a request or an escape of the macros', async () => {
  const document = helpDocument(await loadedProgram())
  const [root, ...rest] = document.commands
  const examples = [{ line: String.raw`.so /etc/passwd \n "x" é`, about: "'quoted" }]
  const page = manPage({ ...document, commands: [{ ...root!, examples }, ...rest] })
  expect(page).toContain("\\&'quoted:\n")
  expect(page).toContain(String.raw`\&.so /etc/passwd \en \(dqx\(dq \[u00E9]`)
})
