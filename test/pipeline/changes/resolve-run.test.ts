import { expect, test } from 'vitest'
import type { OutputEvent } from '../../../src/events/documents.ts'
import { resolveRun } from '../../../src/pipeline/changes/resolve-run.ts'
import { runBench } from '../run/run-bench.ts'

const manifest = (prompt: string) => `version: 1
jobs:
  one:
    respond: { input: "${prompt}" }
    out: one.txt
  two:
    respond: { input: "The other" }
    out: two.txt
`

type Bench = Awaited<ReturnType<typeof runBench>>

async function resolve({ context }: Bench) {
  const events: OutputEvent[] = []
  const outcome = await resolveRun({
    context,
    env: {},
    families: {},
    redactor: { text: (text) => text, document: (json) => json },
    file: undefined,
    isSandbox: false,
    next: (...words) => ['modelgate', 'run', ...words],
    rescueFolder: undefined,
    generating: [],
    listener: { event: (event) => void events.push(event), async flush() {} },
  })
  const error = outcome.kind === 'failed' ? outcome.error : outcome.failure
  const warnings = events.flatMap((event) => (event.type === 'warning-add' ? [event.message] : []))
  return { outcome, error, warnings }
}

/** A lock in which git could not put the block of `one` together. */
function conflict(lock: string, other: string): string {
  return lock.replace(/^.*"one":.*$/m, (line) => `<<<<<<< HEAD\n${line}\n=======\n${other}\n>>>>>>> theirs`)
}

const blockOf = (lock: string) => /^.*"one":.*$/m.exec(lock)![0]

test('of two sides the one is kept that the manifest asks for, and all is as before', async () => {
  const bench = await runBench({ 'modelgate.yaml': manifest('First') })
  await bench.run()
  const before = bench.read('modelgate.lock')
  const other = blockOf(before).replace(/"key": ?"[0-9a-f]{64}"/, `"key":"${'0'.repeat(64)}"`)
  expect(other).not.toBe(blockOf(before))
  bench.write('modelgate.lock', conflict(before, other))
  expect((await bench.run({ mode: 'check' })).error?.code).toBe('lock_conflict')

  const { outcome, error, warnings } = await resolve(bench)
  expect([error, warnings]).toEqual([undefined, ['one is locked as this branch has it.']])
  expect(outcome.document).toMatchObject({ command: 'run merge', mode: 'run', states: { fresh: 2 } })
  expect(bench.read('modelgate.lock')).toBe(before)
})

test('what the manifest asks for on neither side is no longer locked, and exits 13', async () => {
  const bench = await runBench({ 'modelgate.yaml': manifest('First') })
  await bench.run()
  const before = bench.read('modelgate.lock')
  const other = blockOf(before).replace(/"key": ?"[0-9a-f]{64}"/, `"key":"${'0'.repeat(64)}"`)
  bench.write('modelgate.lock', conflict(before, other))
  bench.write('modelgate.yaml', manifest('Changed on both sides'))

  const { error, warnings } = await resolve(bench)
  expect(error?.exit).toBe('outdated')
  expect(warnings).toEqual(['one is not locked any more: the manifest asks for neither side.'])
  expect(Object.keys(bench.lock())).not.toContain('one')
})

test('a lock without conflict markers is left alone', async () => {
  const bench = await runBench({ 'modelgate.yaml': manifest('First') })
  const { error } = await resolve(bench)
  expect([error?.exit, error?.message, error?.facts.next]).toEqual([
    'usage',
    'modelgate.lock has no conflict markers.',
    ['modelgate', 'run', '--plan'],
  ])
})
