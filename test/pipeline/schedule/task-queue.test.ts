import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createTaskQueue } from '../../../src/pipeline/schedule/lanes.ts'
import { runs } from '../../support/sample.ts'

interface Waiting {
  readonly isFollowUp: boolean
  readonly priority: number
}

const anyTask = fc.record({ isFollowUp: fc.boolean(), priority: fc.nat(3) })

test('whatever comes and goes in between, the first one goes first', () => {
  const compare = (one: Waiting & { number: number }, other: Waiting & { number: number }) =>
    Number(other.isFollowUp) - Number(one.isFollowUp) ||
    other.priority - one.priority ||
    one.number - other.number
  fc.assert(
    // Nothing stands for taking one out.
    fc.property(fc.array(fc.option(anyTask, { nil: undefined })), (steps) => {
      const queue = createTaskQueue<number>()
      const taken: (number | undefined)[] = []
      const wanted: (number | undefined)[] = []
      const expected: (Waiting & { number: number })[] = []
      for (const [number, task] of steps.entries()) {
        if (task === undefined) {
          taken.push(queue.pop())
          wanted.push(expected.shift()?.number)
        } else {
          queue.push(number, task, number)
          expected.push({ ...task, number })
          expected.sort(compare)
        }
        expect(queue.size).toBe(expected.length)
      }
      expect(taken).toEqual(wanted)
      expect(queue.clear().toSorted()).toEqual(expected.map(({ number }) => number).toSorted())
      expect([queue.size, queue.pop()]).toEqual([0, undefined])
    }),
    runs(500),
  )
})
