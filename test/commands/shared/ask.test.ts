import { expect, test } from 'vitest'
import { askText, canAsk } from '../../../src/commands/shared/input/questions.ts'
import { Interrupted } from '../../../src/errors.ts'
import { memorySink } from '../../support/memory-sink.ts'
import { pipedInput } from '../../support/piped-input.ts'
import { questionTerminal } from '../../support/question-terminal.ts'
import { runMain } from '../../support/run-main.ts'
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
  expect(asks('terminal', true, { CI: '0' })).toBe(true)
  expect(asks('terminal', true, { CI: '' })).toBe(true)
  expect(asks('terminal', true, { CI_JOB: 'x' })).toBe(true)
})

function terminal() {
  const { overrides, ...rest } = questionTerminal()
  return { ...rest, context: testContext(overrides) }
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

test.each(['Ctrl-D', 'a terminal that has gone'])('%s is no answer', async (how) => {
  const { context, until, press, hangUp } = terminal()
  const answer = askText(context, 'Prompt?')
  await until('Prompt?')
  if (how === 'Ctrl-D') press('\x04')
  else hangUp()
  expect(await answer).toBe('')
})

test('Ctrl-D in the middle of a text does not end it', async () => {
  const { context, until, press } = terminal()
  const answer = askText(context, 'Prompt?')
  await until('Prompt?')
  press('hello')
  press('\x04')
  press('\r')
  expect(await answer).toBe('hello')
})

test('without an answer a command ends and says what it lacks', async () => {
  const { overrides, until, press } = questionTerminal()
  const ended = runMain(['generate', '--sandbox', '--jsonl'], overrides)
  await until('Prompt:')
  press('\x04')
  expect(await ended).toMatchObject({ code: 2, out: expect.stringContaining('No prompt was given.') })
})

test('a signal ends a question with its own reason', async () => {
  const { context, until } = terminal()
  const answer = askText(context, 'Prompt?')
  await until('Prompt?')
  const terminated = new Interrupted('terminate')
  context.abort(terminated)
  await expect(answer).rejects.toBe(terminated)
})
