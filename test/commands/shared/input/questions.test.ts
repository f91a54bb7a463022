import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { askSecret, askText, askYesNo, canAsk } from '../../../../src/commands/shared/input/questions.ts'
import { memorySink } from '../../../support/memory-sink.ts'
import { pipedInput } from '../../../support/piped-input.ts'
import { questionTerminal } from '../../../support/question-terminal.ts'
import { runMain } from '../../../support/run-main.ts'
import { testContext, type TestContext } from '../../../support/test-context.ts'

test.each<['terminal' | 'pipe', boolean, Record<string, string>, boolean, boolean]>([
  ['terminal', true, {}, false, true],
  ['pipe', true, {}, false, false],
  ['terminal', false, {}, false, false],
  ['terminal', true, {}, true, false],
  ['terminal', true, { CI: 'true' }, false, false],
  ['terminal', true, { CI: 'false' }, false, true],
  ['terminal', true, { CI: '' }, false, true],
])(
  'at a %s, an output that is one: %s, in %j, --no-input: %s, one can ask: %s',
  (kind, isTerminal, env, noInput, can) => {
    const context = testContext({ stdin: pipedInput(kind), stderr: memorySink({ isTerminal }), env })
    expect(canAsk(context, noInput)).toBe(can)
  },
)

function terminal() {
  const { overrides, ...rest } = questionTerminal()
  return { ...rest, context: testContext(overrides) }
}

type Ask = (context: TestContext) => Promise<unknown>

test('a text is asked for until there is one', async () => {
  const { context, until, press } = terminal()
  const answer = askText(context, 'Prompt?')
  await until('Prompt?')
  press('\r')
  await until('must provide a value')
  press('hello\r')
  expect([await answer, context.stdout.text]).toEqual(['hello', ''])
})

test('a terminal that has gone is no answer', async () => {
  const { context, until, hangUp } = terminal()
  const answer = askText(context, 'Prompt?')
  await until('Prompt?')
  hangUp()
  expect(await answer).toBe('')
})

test('without an answer a command ends and says what it lacks', async () => {
  const { overrides, until, press } = questionTerminal()
  const ended = runMain(['generate', '--sandbox', '--jsonl'], overrides)
  await until('Prompt:')
  press('\x04')
  expect(await ended).toMatchObject({ code: 2, out: expect.stringContaining('No prompt was given.') })
})

test('a secret is neither shown nor counted', async () => {
  const { context, until, press, shown } = terminal()
  const answer = askSecret(context, 'Key?', async () => undefined)
  await until('Key?')
  // Ctrl-T would show it if the library were allowed to.
  press('sk-secret-1234\x14\r')
  expect(await answer).toBe('sk-secret-1234')
  expect(stripVTControlCharacters(shown())).not.toMatch(/sk-|\*{2}|14|toggle/)
})

test.each<[string, Ask]>([
  ['\x03', (context) => askYesNo(context, 'Go on?')],
  ['\x04', (context) => askYesNo(context, 'Go on?')],
  ['\x03', (context) => askText(context, 'Go on?')],
])('%j ends any question', async (key, ask) => {
  const { context, until, press } = terminal()
  const answer = ask(context)
  await until('Go on?')
  press(key)
  await expect(answer).rejects.toMatchObject({ exitCode: 130 })
})
