import { expect, test } from 'vitest'
import { gatewayFor } from '../perform-call.ts'
import type { Call } from '../calls.ts'
import {
  codesOf,
  filesBelow,
  inCopy,
  performCase,
  prepareHome,
  type CaseEnd,
  type Fault,
} from './perform-case.ts'
import { problemsOf } from './oracle.ts'

/** As many cases at once. */
const lanes = 4

/** Of the cases of a call, those that are tried. */
export type ChooseFaults = (faults: readonly Fault[], call: string) => readonly Fault[]

/** Lets calls of the program to the system fail in turn, with each code that makes sense. */
export function testTorture(calls: readonly Call[], choose: ChooseFaults): void {
  test.for(calls.map((call) => [call.name, call] as const))(
    'calls that fail: %s',
    { timeout: 600_000 },
    async ([, call], { annotate }) => {
      const server = await gatewayFor(call)
      const template = await prepareHome(call, server)
      const before = filesBelow(template)
      // The first run loads what the program consists of.
      await inCopy(template, 0, (home) => performCase(call, home, server))
      const golden = await inCopy(template, 0, (home) => performCase(call, home, server))
      expect([golden.exit, golden.exit === 0 ? '' : golden.stderr]).toEqual([0, ''])
      const faults = [...choose(faultsOf(golden), call.name)]
      const problems: string[] = []
      let number = 0
      const work = async () => {
        for (let fault = faults.shift(); fault !== undefined; fault = faults.shift()) {
          const chosen = fault
          number++
          await inCopy(template, number, async (home) => {
            const end = await performCase(call, home, server, chosen)
            const found = await problemsOf(call, before, golden, end, () => performCase(call, home, server))
            const where = `${chosen.port} ${chosen.at} ${JSON.stringify(end.failed)}`
            problems.push(...found.map((problem) => `${where}: ${problem}\n${end.stdout}${end.stderr}`))
          })
        }
      }
      await Promise.all(Array.from({ length: lanes }, work))
      await annotate(`${golden.calls.length} calls to the system, ${number} cases`)
      expect(problems).toEqual([])
    },
  )
}

/** Each of these calls to the system, with each code that it can fail with. */
export function faultsOf({ calls }: Pick<CaseEnd, 'calls'>): Fault[] {
  return (['file', 'network'] as const).flatMap((port) =>
    calls
      .filter((call) => call.port === port)
      .flatMap((call, at) => codesOf(call).map((_, variant) => ({ port, at, variant }))),
  )
}
