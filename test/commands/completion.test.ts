import { expect, test } from 'vitest'
import { completionScripts, type Shell } from '../../src/commands/completion.ts'
import { main } from '../../src/main.ts'
import { programTree } from '../support/program-tree.ts'
import { testContext } from '../support/test-context.ts'

test.each(Object.keys(completionScripts) as Shell[])('completion %s prints the script', async (shell) => {
  const context = testContext()
  expect(await main(['completion', shell], context)).toBe(0)
  expect(context.stdout.text).toBe(completionScripts[shell](await programTree()))
  expect(context.stderr.text).toBe('')
})

test.each([[['completion']], [['completion', 'tcsh']]])('%j is a usage error', async (argv) => {
  const context = testContext()
  expect(await main(argv, context)).toBe(2)
  expect(context.stdout.text).toBe('')
})
