import { expect, test } from 'vitest'
import { calls, isReport } from './calls.ts'
import { performCall } from './perform-call.ts'

test.each(calls.map((call) => [call.name, call] as const))(
  '%s of a gateway that does all right',
  async (_, call) => {
    const { exit, stdout, stderr, files } = await performCall({
      call,
      exchange: call.exchanges[0]!,
      replies: [],
    })
    expect([exit, exit === 0 ? '' : stderr]).toEqual([0, ''])
    expect(isReport(call) ? '' : stdout).toBe(call.leaves.stdout)
    expect(files).toEqual(call.leaves.files)
  },
)
