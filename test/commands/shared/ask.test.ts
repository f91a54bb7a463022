import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { askText, canAsk } from '../../../src/commands/shared/ask.ts'
import { Interrupted } from '../../../src/errors.ts'
import { memorySink } from '../../support/memory-sink.ts'
import { pipedInput } from '../../support/piped-input.ts'
import { testContext } from '../../support/test-context.ts'

const asks = (
  kind: 'terminal' | 'pipe',
  isTerminal: boolean,
  env: Record<string, string> = {},
  noInput = false,
) => canAsk(testContext({ stdin: pipedInput(kind), stderr: memorySink({ isTerminal }), env }), noInput)

test('questions are asked only at a terminal, and not when told not to', () => {
  expect(asks('terminal', true)).toBe(true)
  expect(asks('pipe', true)).toBe(false)
  expect(asks('terminal', false)).toBe(false)
  expect(asks('terminal', true, {}, true)).toBe(false)
  expect(asks('terminal', true, { CI: 'true' })).toBe(false)
  expect(asks('terminal', true, { CI: '1' })).toBe(false)
  expect(asks('terminal', true, { CI: 'false' })).toBe(true)
  expect(asks('terminal', true, { CI: '' })).toBe(true)
  expect(asks('terminal', true, { CI_JOB: 'x' })).toBe(true)
})

/** A context whose terminal is a pair of streams. */
function terminal() {
  const keys = new PassThrough()
  const screen = new PassThrough()
  let shown = ''
  screen.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  const context = testContext({
    stdin: { ...pipedInput('terminal'), stream: keys as unknown as NodeJS.ReadStream },
    stderr: { ...memorySink({ isTerminal: true }), stream: screen as unknown as NodeJS.WriteStream },
  })
  /** Waits until the screen shows something, so that the keys are not pressed too early. */
  const until = async (text: string) => {
    while (!stripVTControlCharacters(shown).includes(text)) await setImmediate()
  }
  return {
    context,
    until,
    press: (text: string) => keys.write(text),
  }
}

test('a text is asked for on standard error until there is one', async () => {
  const { context, until, press } = terminal()
  const answer = askText(context, 'Prompt?')
  await until('Prompt?')
  press('\r')
  await until('must provide a value')
  press('hello\r')
  expect(await answer).toBe('hello')
  expect(context.stdout.text).toBe('')
})

test('Ctrl-C at a question is an interrupt', async () => {
  const { context, until, press } = terminal()
  const answer = askText(context, 'Prompt?')
  await until('Prompt?')
  press('\x03')
  await expect(answer).rejects.toMatchObject({ exitCode: 130 })
})

test('a signal ends a question with its own reason', async () => {
  const { context, until } = terminal()
  const answer = askText(context, 'Prompt?')
  await until('Prompt?')
  const terminated = new Interrupted('terminate')
  context.abort(terminated)
  await expect(answer).rejects.toBe(terminated)
})
