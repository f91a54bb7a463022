import { expect, test } from 'vitest'
import { readWorkerFlags, type WorkerFlags } from '../../../src/commands/run/run-flags.ts'
import { asModelgateError } from '../../../src/errors.ts'

const read = async (flags: Partial<WorkerFlags>) => readWorkerFlags({ validate: true, stdin: true, ...flags })
const refusal = (flags: Partial<WorkerFlags>) =>
  read(flags).then(
    () => 'taken',
    (error: unknown) => asModelgateError(error, false).message,
  )

test('without flags a worker has the places of a run on one machine', async () => {
  const places = { text: 8, image: 4, video: 2 }
  expect(await read({})).toEqual({ places, rate: null, graceS: 5, untilEmpty: false })
})

test('what is wrong is told at once', async () => {
  expect(await refusal({ lanes: 'texts=3', rate: '20', grace: '-1' })).toBe(
    [
      '--lanes must say how many requests at once, up to 1000, such as text=16,image=4,video=0, not "texts=3".',
      '--rate must be a number of requests in a second or a minute, such as 20/s or 600/m, not "20".',
      '--grace must be a number of seconds from 0 to 600, not "-1".',
    ].join('\n'),
  )
})

const notLanes = ['', 'text', 'text=', 'text=1001', 'text=1,text=2', 'text=1,', 'constructor=1', '=1']

test.each<[Partial<WorkerFlags>, RegExp]>([
  ...notLanes.map((lanes) => [{ lanes }, /^--lanes must say/] as [object, RegExp]),
  ...['0/s', '20/h', '1.5/s', '20/s/s', '-1/s', ''].map(
    (rate) => [{ rate }, /^--rate must be/] as [object, RegExp],
  ),
  [{ lanes: 'text=0,image=0,video=0' }, /^With these --lanes the worker would take nothing\.$/],
])('%j is refused', async (flags, message) => {
  expect(await refusal(flags)).toMatch(message)
})
