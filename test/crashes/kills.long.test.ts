import { expect, test } from 'vitest'
import { seededRandom } from '../../src/sandbox/seeded-random.ts'
import { atEach } from '../pipeline/kill-points.ts'
import { namedPoints } from '../support/run-to-point.ts'
import { killAt, rehearse, scenes } from './kill-scenes.ts'
import { amount, sample, seedOf } from '../support/sample.ts'

/** How many kills at random each scene gets, besides those at every named step. */
const kills = amount(2, 20)

const some = sample(scenes, 2, ({ name }) => name)

test.each(some)(
  '$name: killed at every step and at random, no harm is done, and the next call completes it',
  async (scene) => {
    const rehearsed = await rehearse(scene)
    const { length } = rehearsed.points
    const { first, last } = namedPoints(rehearsed.points)
    const random = seededRandom(seedOf(scene.name))
    const chosen = [
      ...[...first, ...last].map((point) => ({ point, turns: 0 })),
      ...Array.from({ length: kills }, () => ({
        point: 1 + Math.floor(random() * length),
        turns: Math.floor(random() * 12),
      })),
    ]
    expect(length).toBeGreaterThan(1)
    await atEach(chosen, ({ point, turns }) => killAt(scene, rehearsed, point, turns))
  },
  600_000,
)
