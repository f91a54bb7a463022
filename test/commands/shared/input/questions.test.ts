import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import {
  askChoice,
  askLine,
  askSearch,
  askSecret,
  askText,
  askYesNo,
  canAsk,
} from '../../../../src/commands/shared/input/questions.ts'
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

const choices = ['one', 'two', 'three'].map((value) => ({ value, name: value }))

type Ask = (context: TestContext) => Promise<unknown>
type Steps = readonly (readonly [shown: string, keys: string])[]
const line: Ask = (context) => askLine(context, 'Model?', {})
const words: Ask = (context) => askText(context, 'Prompt?')

/** What is asked, what is typed once a text is shown, and the answer. */
test.each<[what: string, ask: Ask, steps: Steps, answer: unknown]>([
  ['Enter leaves a question open', line, [['Model?', '\r']], ''],
  [
    'Enter takes the present answer',
    (context) => askLine(context, 'Model?', { present: 'some-model' }),
    [['(some-model)', '\r']],
    'some-model',
  ],
  [
    'a refused answer is corrected where it stands',
    (context) =>
      askLine(context, 'Port?', {
        check: async (value) => (value === '8080' ? undefined : 'Nothing answers there.'),
      }),
    [
      ['Port?', '808\r'],
      ['Nothing answers there.', '0\r'],
    ],
    '8080',
  ],
  [
    'a text is asked for until there is one',
    words,
    [
      ['Prompt?', '\r'],
      ['must provide a value', 'hello\r'],
    ],
    'hello',
  ],
  ['Ctrl-D is no text', words, [['Prompt?', '\x04']], ''],
  ['yes', (context) => askYesNo(context, 'Go on?', false), [['Go on?', 'y\r']], true],
  ['no', (context) => askYesNo(context, 'Go on?', true), [['Go on?', 'n\r']], false],
  [
    'one of a few',
    (context) => askChoice(context, 'Which?', choices, 'two'),
    [['three', '\x1b[B\r']],
    'three',
  ],
  [
    'one of many, by a part of it',
    (context) => askSearch(context, 'Which?', (typed) => choices.filter(({ name }) => name.includes(typed))),
    [
      ['three', 'hr'],
      ['Which? hr', '\r'],
    ],
    'three',
  ],
])('%s', async (_, ask, steps, expected) => {
  const { context, until, press } = terminal()
  const stream = context.stdin.stream!
  const listeners = () => ['pause', 'end', 'close'].map((name) => stream.listenerCount(name))
  const before = listeners()
  const answer = ask(context)
  for (const [shown, keys] of steps) {
    await until(shown)
    press(keys)
  }
  expect([await answer, context.stdout.text, listeners()]).toEqual([expected, '', before])
})

test('a terminal that has gone is no answer', async () => {
  const { context, until, hangUp } = terminal()
  const answer = words(context)
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
  const answer = askSecret(context, 'Key?')
  await until('Key?')
  // Ctrl-T would show it if the library were allowed to.
  press('sk-secret-1234\x14\r')
  expect(await answer).toBe('sk-secret-1234')
  expect(stripVTControlCharacters(shown())).not.toMatch(/sk-|\*{2}|14|toggle/)
})

test.each<[string, Ask]>([
  ['\x03', (context) => askYesNo(context, 'Go on?', true)],
  ['\x04', (context) => askYesNo(context, 'Go on?', true)],
  ['\x03', (context) => askText(context, 'Go on?')],
])('%j ends any question', async (key, ask) => {
  const { context, until, press } = terminal()
  const answer = ask(context)
  await until('Go on?')
  press(key)
  await expect(answer).rejects.toMatchObject({ exitCode: 130 })
})
