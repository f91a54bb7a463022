import { expect, test } from 'vitest'
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
