import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { queueServers, type QueueServer } from '../../support/queue-servers.ts'
import { isWhole, sample } from '../../support/sample.ts'
import { haltAt, manifests, type Kind } from './frozen-worker.ts'

/** The steps before which a killed worker leaves an unknown outcome. */
const unknownAt: Readonly<Record<Kind, readonly string[]>> = {
  text: ['getJob', 'getJob', 'request to text'],
  // The addresses of its pictures were in its memory alone.
  edit: ['getJob', 'getJob', 'request to create', 'updateData'],
  video: ['getJob', 'getJob', 'request to create'],
}

const kinds = Object.keys(manifests) as Kind[]
/** More than any worker takes. */
const allSteps = Array.from({ length: 60 }, (_, at) => at + 1)
/** At least so many takes each. */
const least = 7

describe.each(queueServers)('on $name', ({ name, isThere, needs, start }) => {
  let server: QueueServer
  beforeAll(async () => {
    if (isThere) server = await start()
  })
  afterAll(() => server?.remove())
  beforeEach(({ skip }) => skip(!isThere, `needs ${needs}`))

  const haltEverywhere = async (kind: Kind, isKilled: boolean) => {
    const nameOf = (step: number) => `${name}, ${kind}, ${isKilled}, ${step}`
    const some = sample(allSteps.slice(0, least), 1, nameOf)
    const steps = isWhole ? [...allSteps] : [...some]
    const all: NonNullable<Awaited<ReturnType<typeof haltAt>>>[] = []
    while (steps.length > 0) {
      const next = steps.splice(0, 4)
      const halted = await Promise.all(next.map((step) => haltAt(server.url, kind, step, isKilled)))
      all.push(...halted.filter((one) => one !== undefined))
      if (halted.includes(undefined)) break
    }
    expect(all.length).toBeGreaterThanOrEqual(isWhole ? least : some.length)
    return all
  }

  test.each(kinds)(
    'a worker that stands still at any step of a %s, and goes on, has it created once',
    async (kind) => {
      const all = await haltEverywhere(kind, false)
      expect(all.filter(({ exits, created }) => exits[1] !== 'ok' || created !== 1)).toEqual([])
    },
  )

  test.each(kinds)(
    'a worker that is killed at any step of a %s loses nothing that had come, and pays once',
    async (kind) => {
      const all = await haltEverywhere(kind, true)
      expect(all.filter(({ created }) => created > 1)).toEqual([])
      // Between the intent and what the gateway has answered nobody knows.
      const unknown = all.flatMap(({ step, exits }) => (exits[1] === 'ok' ? [] : step))
      // The sample tries one step.
      const one = [[], ...unknownAt[kind].map((step) => [step])]
      expect(isWhole ? [unknownAt[kind]] : one).toContainEqual(unknown)
    },
  )
})
