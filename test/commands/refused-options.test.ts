import { expect, test } from 'vitest'
import { commandEntries, type CommandEntry } from '../../src/command-entries.ts'
import { runMain } from '../support/run-main.ts'

test.each<[call: string, message: string, next?: string[]]>([
  [
    '--timeout 3 respond --json hi',
    '--timeout belongs after the command.',
    ['modelgate', 'respond', '--timeout', '3', '--json', 'hi'],
  ],
  [
    '--json --model=m image create boat',
    '--model belongs after the command.',
    ['modelgate', 'image', 'create', '--json', '--model=m', 'boat'],
  ],
  ['--header Authorization:k respond --json hi', '--header belongs after the command.'],
  ['sandbox --json', "unknown option '--json'"],
  ['--json sandbox', '--json does not apply to sandbox.'],
  ['--json run --queue redis://a adopt hero', '--queue does not apply to run adopt.'],
  ['models --max-creates 3 --json', "unknown option '--max-creates'"],
])('%s', async (call, message, next = undefined) => {
  const { code, out, err } = await runMain(call.split(' '))
  const { error } = JSON.parse(err) as { error: { message: string; next: string[] | null } }
  expect([code, out, error.message, error.next]).toEqual([2, '', message, next ?? null])
})

/** The words of every command, without groups. */
const callsOf = (entries: readonly CommandEntry[], before: readonly string[] = []): string[] =>
  entries.flatMap(({ name, commands }) =>
    commands === undefined ? [[...before, name].join(' ')] : callsOf(commands, [...before, name]),
  )

test.each(callsOf(commandEntries))('%s knows what to be quiet about, and whom not to ask', async (call) => {
  const { out } = await runMain([...call.split(' '), '--help', '--all'])
  for (const flag of ['--quiet', '--debug']) expect(out).toContain(flag)
})
