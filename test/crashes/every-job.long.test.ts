import { expect, test } from 'vitest'
import type { JobListDocument } from '../../src/events/video.ts'
import { atEach } from '../pipeline/kill-points.ts'
import { fastClock } from '../support/fast-clock.ts'
import { namedPoints, runToPoint } from '../support/run-to-point.ts'
import { crashMachine } from './machine.ts'

const faults = [{ endpoint: 'image-files', times: 3, action: 'status', status: 503 }] as const
const sandbox = { clock: fastClock, faults }

/** What starts a job of each kind, and the file in which its result ends. */
const starts = [
  ['an operation', 'boat.mp4', 'video generate -m veo-3.1 --no-wait -o boat.mp4 Boat'],
  [
    'a remix',
    'night.mp4',
    'video remix -m sora-2 --no-wait --no-check -o night.mp4 video_sandbox_source Night',
  ],
  ['a background response', 'answer.txt', 'respond --background -m sandbox-text -o answer.txt Hello'],
  [
    'an image whose address fails',
    'hero.png',
    'image create -m dall-e-3 --response-format url -o hero.png Boat',
  ],
] as const

test.each(starts)(
  '%s, killed at every step, is taken by wait --all of another shell, and never made twice',
  async (_, file, words) => {
    const call = words.split(' ')
    const measured = await crashMachine({ sandbox })
    const points = await runToPoint((env) => measured.start(call, env), 0)
    const { first, last } = namedPoints(points)
    let taken = 0
    await atEach([...new Set([...first, ...last])], async (point) => {
      const at = `killed at ${points[point - 1]}`
      const machine = await crashMachine({ sandbox })
      await runToPoint((env) => machine.start(call, env), point)
      const created = machine.sandbox.created()
      const listed = await machine.finish(['jobs', '--json'])
      const { jobs } = JSON.parse(listed.stdout.toString()) as JobListDocument
      const isKnown = jobs.some(({ id }) => id !== null)
      // The address of an image may still fail.
      const first = await machine.start(['wait', '--all']).ended
      const second = await machine.start(['wait', '--all']).ended
      expect({
        at,
        created: created <= 1,
        // Only the reply to an image is on record after it was read; of every other job the key was before.
        isOnRecord: file === 'hero.png' || jobs.length >= created,
        first: [0, 11].includes(first.exit as number) ? '' : first.stderr,
        second: second.exit === 0 ? '' : second.stderr,
        createdLater: machine.sandbox.created() - created,
        files: [...machine.files().keys()],
      }).toEqual({
        at,
        created: true,
        isOnRecord: true,
        first: '',
        second: '',
        createdLater: 0,
        files: isKnown ? [file] : [],
      })
      taken += Number(isKnown)
      await machine.sandbox.close()
    })
    expect(taken).toBeGreaterThan(0)
  },
  600_000,
)
