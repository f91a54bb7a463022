import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { queueBench } from './queue-bench.ts'
import { runBench } from './run-bench.ts'

const mixed = `version: 1
jobs:
  words:
    respond: { model: text-a, input: "Name a boat" }
    out: words.txt
  title:
    generate: { model: gemini-3-flash, prompt: "A title" }
    out: title.txt
  boat:
    image create: { model: image-a, prompt: "@words" }
    out: boat.png
  night:
    image edit: { model: image-a, prompt: "At night", image: "@boat" }
    out: night.png
  film:
    video generate: { model: veo-3.1, prompt: "It sails", image: "@boat" }
    out: film.mp4
  remix:
    video remix: { model: veo-3.1, prompt: "In winter", source: "@film" }
    out: remix.mp4
  choice:
    image create: { model: image-a, prompt: "A sail" }
    variants: 3
    pick: 2
    out: sail.png
`

/** What a lock says, without what differs from run to run. */
function stable(text: string): unknown {
  return JSON.parse(text, (name, value: unknown) =>
    ['took_s', 'origin', 'request_id', 'job_id'].includes(name) ? undefined : value,
  )
}

test('a run through a queue makes the files and the lock that a run without one makes', async () => {
  const local = await runBench({ 'modelgate.yaml': mixed })
  expect((await local.run()).error).toBeUndefined()
  const bench = await runBench({ 'modelgate.yaml': mixed })
  const queue = await queueBench()
  queue.work(bench.sandbox.url)
  const connect = () => Promise.reject(new Error('A submitter needs no key.'))
  const { exit, error, document } = await bench.run({}, { queue: queue.call, connect })
  expect([exit, error]).toEqual(['ok', undefined])
  expect(document!.creates).toMatchObject({ planned: 7, made: 7 })
  expect(bench.sandbox.created()).toBe(local.sandbox.created())
  expect(stable(bench.read('modelgate.lock'))).toEqual(stable(local.read('modelgate.lock')))
  const files = ['words.txt', 'title.txt', 'boat.png', 'night.png', 'film.mp4', 'remix.mp4', 'sail.png']
  for (const name of files) {
    expect(readFileSync(bench.path(name)).equals(readFileSync(local.path(name)))).toBe(true)
  }
  expect(bench.list('.modelgate/work')).toEqual([])
  expect((await bench.run({}, { queue: queue.call })).told.every((told) => told.endsWith(': fresh'))).toBe(
    true,
  )
})
