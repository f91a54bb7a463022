import type { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Interrupted } from '../../src/errors.ts'
import { createOutput } from '../../src/output/create-output.ts'
import { drawableSink } from '../support/drawable-sink.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { sampleDocument, sampleEvents, textDelta } from '../support/output-samples.ts'
import { testContext } from '../support/test-context.ts'

function opened(options = {}, terminal = {}, env = {}) {
  const context = testContext({ env, stderr: drawableSink(terminal) })
  return { ...context, output: createOutput(context, { quiet: false, usage: false, ...options }) }
}

test('a spinner is due from the start until the first text', async () => {
  const { clock, output } = opened()
  output.event(sampleEvents.start)
  expect(clock.pendingTimers).toBe(1)
  output.event(textDelta('Hello'))
  await output.flush()
  expect(clock.pendingTimers).toBe(0)
})

test('a spinner is due until the last of several images is there', async () => {
  const { clock, output } = opened({ result: 'files' })
  output.event(sampleEvents.start)
  for (const index of [1, 2]) {
    output.event({ ...sampleEvents['image-save'], index, count: 2 })
    await output.flush()
    expect(clock.pendingTimers).toBe(2 - index)
  }
})

test.each<[string, object, object, Record<string, string>]>([
  ['standard error is no terminal', {}, { isTerminal: false }, {}],
  ['the terminal cannot move its cursor', {}, {}, { TERM: 'dumb' }],
  ['it is a CI run', {}, {}, { CI: 'true' }],
  ['the terminal has no width', {}, { columns: 0 }, {}],
  ['it shall be quiet', { quiet: true }, {}, {}],
])('no spinner where %s', (_, options, terminal, env) => {
  const { clock, output } = opened(options, terminal, env)
  output.event(sampleEvents.start)
  expect(clock.pendingTimers).toBe(0)
})

test.each(['end', 'error', 'interrupt'])(
  '%s leaves no timer that would keep the process alive',
  async (how) => {
    const { clock, output, abort } = opened()
    output.event(sampleEvents.start)
    const reason = new Interrupted('interrupt')
    if (how === 'end') await output.end(sampleDocument)
    else if (how === 'error') await output.error(reason)
    else abort(reason)
    expect(clock.pendingTimers).toBe(0)
  },
)

test('a spinner whose library loads after the text has come is not started', async () => {
  const due: (() => void)[] = []
  const timer = (_: number, callback: () => void) => {
    due.push(callback)
    return { cancel() {} }
  }
  const context = testContext({ stderr: drawableSink(), clock: { ...fakeClock(), timer } })
  const output = createOutput(context, { quiet: false, usage: false })
  output.event(sampleEvents.start)
  for (const callback of due) callback()
  output.event(textDelta('Hello'))
  await output.flush()
  await import('ora')
  await setImmediate()
  expect((context.stderr.stream as unknown as PassThrough).read()).toBeNull()
})

test('a spinner says how long has been waited, also after a line that interrupts it', async () => {
  const { clock, stderr, output } = opened()
  let drawn = ''
  stderr.stream!.on('data', (chunk) => (drawn += String(chunk)))
  output.event({ ...sampleEvents.start, model: 'm' })
  await import('ora')
  await clock.advance(300)
  await setImmediate()
  expect(drawn).toMatch(/waiting for m(?! \()/)
  await clock.advance(3000)
  output.event(sampleEvents['retry-wait'])
  await clock.advance(300)
  await setImmediate()
  expect(drawn).toContain('waiting for m (3 s)')
  await output.error(new Interrupted('interrupt'))
})
