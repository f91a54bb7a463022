import { readFileSync } from 'node:fs'
import { beforeEach, describe, expect, test } from 'vitest'
import type { HelpDocument } from '../src/events/help-document.ts'
import { projectRoot } from './support/generated-files.ts'
import { runMain } from './support/run-main.ts'
import { pngBytes } from './support/image-bytes.ts'
import { temporaryFolder, writeFiles } from './support/temporary-folder.ts'

const skill = readFileSync(new URL('skills/modelgate/SKILL.md', projectRoot), 'utf8')

/** Every command line that it tells to run. */
const lines = [...skill.matchAll(/^```sh\n([^]*?)^```$/gm)].flatMap(([, block]) => block!.trim().split('\n'))

/** The words of a command line, as a shell would split them; what is redirected is left out. */
function wordsOf(line: string): string[] {
  const [call] = line.split(' < ')
  const words = call!.match(/(?:"[^"]*"|'[^']*'|\S)+/g)!.slice(1)
  return words.map((word) => word.replaceAll(/^["']|["']$/g, ''))
}

let cwd: string
beforeEach(() => {
  cwd = temporaryFolder()
  writeFiles(cwd, { 'room.png': pngBytes(), 'art/.keep': '', 'clips/.keep': '' })
})

describe('each command line of SKILL.md is accepted', () => {
  test.each(lines.filter((line) => line.startsWith('modelgate ')))('%s', async (line) => {
    const words = wordsOf(line)
    const isCall = ['generate', 'respond', 'image'].includes(words[0]!) || words[1] === 'generate'
    const dry = ['--sandbox', '--dry-run'].filter((flag) => !words.includes(flag))
    const stdin = line.includes(' < ') ? { stdin: 'some notes' } : {}
    // A look-up needs a job, which a dry run does not.
    const argv = isCall || words[0] === 'video' || words[0] === 'wait' ? [...words, ...dry] : words
    const env = { MODELGATE_STATE_DIR: temporaryFolder() }
    const { code, out, err } = await runMain(argv, { cwd, env, ...stdin })
    expect([code, err.replaceAll(/^.*joined.*\n/gm, '')]).toEqual([0, expect.any(String)])
    expect(out === '').toBe(false)
  })

  test('and there are enough of them', () => {
    expect(lines.length).toBeGreaterThan(15)
    expect(lines.filter((line) => !/^(?:modelgate|export) /.test(line))).toEqual([])
  })
})

test('it has the front matter of a skill, and is short', () => {
  const [, matter = ''] = /^---\n([^]*?)\n---\n/.exec(skill)!
  expect(matter).toMatch(/^name: modelgate$/m)
  const [, description = ''] = /^description: (.+)$/m.exec(matter)!
  expect(description.length).toBeLessThanOrEqual(1024)
  expect(description).not.toMatch(/[<>]|: /)
  expect(skill.split('\n').length).toBeLessThanOrEqual(250)
})

test('it names only commands, flags and fields of errors that there are', async () => {
  const { out } = await runMain(['help', '--json'])
  const { commands } = JSON.parse(out) as HelpDocument
  const flags = new Set(commands.flatMap(({ options }) => options.map(({ flag }) => flag)))
  flags.add('--all')
  const named = [...skill.matchAll(/(?<![\w-])--[a-z][a-z-]+/g)].map(([flag]) => flag)
  expect(named.filter((flag) => !flags.has(flag) && !flags.has(flag.replace('--no-', '--')))).toEqual([])
  const names = [...skill.matchAll(/(?:^|`)modelgate ([a-z]+)/gm)].map(([, name]) => name!)
  const known = new Set(commands.map(({ name }) => name.split(' ')[0]))
  expect(names.filter((name) => !known.has(name))).toEqual([])
  const { out: schema } = await runMain(['schema', 'error'])
  const { properties } = JSON.parse(schema) as { properties: { error: { required: string[] } } }
  const fields = [...skill.matchAll(/`error\.([a-z_]+)`/g)].map(([, field]) => field!)
  expect(fields.filter((field) => !properties.error.required.includes(field))).toEqual([])
})
