import type { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Interrupted } from '../../src/errors.ts'
import { createOutput } from '../../src/output/create-output.ts'
import { drawableSink } from '../support/drawable-sink.ts'
import { memorySink } from '../support/memory-sink.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { sampleDocument, sampleEvents, textDelta } from '../support/output-samples.ts'
import { testContext } from '../support/test-context.ts'

const loud = { quiet: false, usage: false }

test('a spinner is due from the start until the first text', async () => {
  const context = testContext({ stderr: drawableSink() })
  const output = createOutput(context, loud)
  output.event(sampleEvents.start)
  expect(context.clock.pendingTimers).toBe(1)
  output.event(textDelta('Hello'))
  await output.flush()
  expect(context.clock.pendingTimers).toBe(0)
})

test('a spinner is due until the last of several images is there', async () => {
  const context = testContext({ stdout: memorySink({ isTerminal: true }), stderr: drawableSink() })
  const output = createOutput(context, { ...loud, result: 'files' })
  const saved = sampleEvents['image-save']
  output.event(sampleEvents.start)
  output.event({ ...saved, index: 1, count: 2 })
  await output.flush()
  expect(context.clock.pendingTimers).toBe(1)
  output.event({ ...saved, index: 2, count: 2 })
  await output.flush()
  expect(context.clock.pendingTimers).toBe(0)
})

test.each([
  ['standard error is no terminal', {}, { isTerminal: false }, loud],
  ['the terminal cannot move its cursor', { TERM: 'dumb' }, {}, loud],
  ['it is a CI run', { CI: 'true' }, {}, loud],
  ['the terminal has no width', {}, { columns: 0 }, loud],
  ['it shall be quiet', {}, {}, { quiet: true, usage: false }],
])('no spinner where %s', (_, env, terminal, options) => {
  const context = testContext({ env, stderr: drawableSink(terminal) })
  createOutput(context, options).event(sampleEvents.start)
  expect(context.clock.pendingTimers).toBe(0)
})

test.each(['end', 'error', 'interrupt'])(
  '%s leaves no timer that would keep the process alive',
  async (how) => {
    const context = testContext({ stderr: drawableSink() })
    const output = createOutput(context, loud)
    output.event(sampleEvents.start)
    const reason = new Interrupted('interrupt')
    if (how === 'end') await output.end(sampleDocument)
    else if (how === 'error') await output.error(reason)
    else context.abort(reason)
    expect(context.clock.pendingTimers).toBe(0)
  },
)

test('a spinner whose library loads after the text has come is not started', async () => {
  const due: (() => void)[] = []
  const timer = (_: number, callback: () => void) => {
    due.push(callback)
    return { cancel() {} }
  }
  const context = testContext({ stderr: drawableSink(), clock: { ...fakeClock(), timer } })
  const output = createOutput(context, loud)
  output.event(sampleEvents.start)
  for (const callback of due) callback()
  output.event(textDelta('Hello'))
  await output.flush()
  await import('ora')
  await setImmediate()
  expect((context.stderr.stream as unknown as PassThrough).read()).toBeNull()
})

test('a spinner says how long has been waited, also after a line that interrupts it', async () => {
  const context = testContext({ stderr: drawableSink() })
  let drawn = ''
  context.stderr.stream!.on('data', (chunk) => (drawn += String(chunk)))
  const output = createOutput(context, loud)
  output.event({ ...sampleEvents.start, model: 'm' })
  await import('ora')
  await context.clock.advance(300)
  await setImmediate()
  expect(drawn).toMatch(/waiting for m(?! \()/)
  await context.clock.advance(3000)
  output.event(sampleEvents['retry-wait'])
  await context.clock.advance(300)
  await setImmediate()
  expect(drawn).toContain('waiting for m (3 s)')
  await output.error(new Interrupted('interrupt'))
})
