import { expect, test } from 'vitest'
import { spawnProgram } from './spawn-program.ts'

test.runIf(process.platform === 'linux').each(['/proc/self/nothing', '/proc'])(
  'a home in which nothing can be made (%s) keeps nothing from running',
  async (home) => {
    const { ended } = spawnProgram(['help', 'exit-codes'], { env: { HOME: home } })
    const { exit, stdout, stderr } = await ended
    expect([exit, stderr]).toEqual([0, ''])
    expect(stdout.toString()).toContain('How modelgate ends')
  },
)
