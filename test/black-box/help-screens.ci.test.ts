import { expect, test } from 'vitest'
import { runOnScreen } from '../support/screen.ts'
import { testContext, type TestOverrides } from '../support/test-context.ts'
import { runProgram } from '../../src/program.ts'
import { launcher, spawnProgram } from './spawn-program.ts'

async function show(argv: readonly string[], columns: number, env: Readonly<Record<string, string>> = {}) {
  const { lines, bytes, exitCode } = await runOnScreen(launcher, argv, { columns, rows: 60, env })
  expect(exitCode).toBe(0)
  return { lines, bytes }
}

/** What the parser's own tree says, which the build has written down. */
async function ownHelp(overrides: TestOverrides = {}): Promise<string> {
  const context = testContext(overrides)
  await runProgram(['--help'], context)
  return context.stdout.text
}

test('the help of the built program is that of its commands', async () => {
  const { exit, stdout, stderr } = await spawnProgram(['--help']).ended
  expect([exit, stdout.toString(), stderr]).toEqual([0, await ownHelp(), ''])
})

test.each([140, 40])('so it is on a terminal of %i columns', async (columns) => {
  const { bytes } = await show(['--help'], columns)
  expect(bytes).toContain((await ownHelp({ terminal: true, columns })).replaceAll('\n', '\r\n'))
})
