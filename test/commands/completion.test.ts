import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { main } from '../../src/main.ts'
import { projectRoot } from '../support/pages.ts'
import { testContext } from '../support/test-context.ts'

test.each([
  ['bash', 'modelgate.bash'],
  ['zsh', '_modelgate'],
  ['fish', 'modelgate.fish'],
  ['powershell', 'modelgate.ps1'],
])('completion %s prints the script', async (shell, name) => {
  const context = testContext()
  expect(await main(['completion', shell], context)).toBe(0)
  expect(context.stdout.text).toBe(readFileSync(new URL(`completions/${name}`, projectRoot), 'utf8'))
  expect(context.stderr.text).toBe('')
})

test.each([[['completion']], [['completion', 'tcsh']]])('%j is a usage error', async (argv) => {
  const context = testContext()
  expect(await main(argv, context)).toBe(2)
  expect(context.stdout.text).toBe('')
})
