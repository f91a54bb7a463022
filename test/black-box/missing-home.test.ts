import { expect, test } from 'vitest'
import { endOf } from './spawn-program.ts'

test.runIf(process.platform === 'linux').each(['/proc/self/nothing', '/proc'])(
  'a home in which nothing can be made (%s) keeps nothing from running',
  async (home) => {
    const ended = await endOf(['help', 'exit-codes'], { env: { HOME: home } })
    expect(ended).toEqual({ exit: 0, stdout: expect.stringContaining('How modelgate ends'), stderr: '' })
  },
)
