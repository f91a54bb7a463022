import { expect, test } from 'vitest'
import { spawnProgram } from './spawn-program.ts'

test.runIf(process.platform === 'linux')(
  'a home that is not there, and cannot be made, keeps nothing from running',
  async () => {
    const { ended } = spawnProgram(['help', 'exit-codes'], { env: { HOME: '/proc/self/nothing' } })
    const { exit, stdout, stderr } = await ended
    expect([exit, stderr]).toEqual([0, ''])
    expect(stdout.toString()).toContain('How modelgate ends')
  },
)
