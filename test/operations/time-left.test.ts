import type { VideoState } from '../../src/contract/video-state.ts'
import { expect, test } from 'vitest'

import { createTimeLeft } from '../../src/operations/wait-for-video.ts'

type Look = readonly [seconds: number, state: VideoState, progress: number | null, left: number | null]

test.each<[string, readonly Look[]]>([
  [
    'the time in the queue does not count',
    [
      [0, 'pending', 0, null],
      [600, 'pending', 0, null],
      [610, 'in_progress', 0, null],
      [620, 'in_progress', 10, 90],
      [640, 'in_progress', 50, 30],
    ],
  ],
  [
    'a job that is under way when it is first seen: nothing is known before it goes on',
    [
      [0, 'in_progress', 40, null],
      [10, 'in_progress', 40, null],
      [20, 'in_progress', 60, 40],
    ],
  ],
  [
    'a first progress counts as a start, whatever the state is called',
    [
      [0, 'pending', null, null],
      [100, 'pending', 1, null],
      [110, 'pending', 2, 980],
    ],
  ],
  [
    'without progress there is no estimate',
    [
      [0, 'in_progress', null, null],
      [50, 'in_progress', null, null],
      [60, 'in_progress', 30, 140],
    ],
  ],
  [
    'what is done has no time left',
    [
      [0, 'in_progress', 100, 0],
      [1, 'completed', null, 0],
      [2, 'failed', 40, 0],
    ],
  ],
  [
    'two looks at the same moment tell nothing of the pace',
    [
      [5, 'in_progress', 0, null],
      [5, 'in_progress', 50, null],
    ],
  ],
])('%s', (_, looks) => {
  const timeLeft = createTimeLeft()
  const told = looks.map(([seconds, state, progress]) =>
    timeLeft({ state, progress, elapsedMs: seconds * 1000 }),
  )
  expect(told).toEqual(looks.map(([, , , left]) => left))
})
