import { setImmediate } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import {
  askChoice,
  askLine,
  askSearch,
  askSecret,
  askYesNo,
} from '../../../../src/commands/shared/input/questions.ts'
import { questionTerminal } from '../../../support/question-terminal.ts'
import { testContext, type TestContext } from '../../../support/test-context.ts'

function terminal() {
  const { overrides, ...rest } = questionTerminal()
  return { ...rest, context: testContext(overrides) }
}

const choices = ['one', 'two', 'three'].map((value) => ({ value, name: value }))
let checks = 0

/** What is asked, what is typed once a text is shown, and the answer. */
test.each<
  [
    what: string,
    ask: (context: TestContext) => Promise<unknown>,
    steps: readonly (readonly [shown: string, keys: string])[],
    answer: unknown,
  ]
>([
  [
    'Enter takes the present answer',
    (context) => askLine(context, 'Model?', { present: 'some-model' }),
    [['(some-model)', '\r']],
    'some-model',
  ],
  [
    'without a present answer, Enter leaves a question open',
    (context) => askLine(context, 'Model?', {}),
    [['Model?', '\r']],
    '',
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
    'a check that fails is told, and the question goes on',
    (context) =>
      askLine(context, 'Port?', {
        async check() {
          if (checks++ === 0) throw new Error('The check failed.')
          return undefined
        },
      }),
    [
      ['Port?', '1\r'],
      ['The check failed.', '\r'],
    ],
    '1',
  ],
  ['yes', (context) => askYesNo(context, 'Go on?', false), [['Go on?', 'y\r']], true],
  ['no', (context) => askYesNo(context, 'Go on?', true), [['Go on?', 'n\r']], false],
  ['neither', (context) => askYesNo(context, 'Go on?', true), [['Go on?', '\r']], true],
  [
    'one of a few',
    (context) => askChoice(context, 'Which?', choices, 'two'),
    [['three', '\x1b[B\r']],
    'three',
  ],
  [
    'behind the last of a few comes nothing',
    (context) => askChoice(context, 'Which?', choices, 'three'),
    [['three', '\x1b[B\r']],
    'three',
  ],
  [
    'of many, the one that is marked',
    (context) => askSearch(context, 'Which?', () => choices),
    [['three', '\x1b[B\r']],
    'two',
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
  const answer = ask(context)
  for (const [shown, keys] of steps) {
    await until(shown)
    press(keys)
  }
  expect(await answer).toBe(expected)
})

test('Ctrl-C during a check stops the check', async () => {
  const { context, until, press } = terminal()
  const { promise: stopped, resolve } = Promise.withResolvers<string>()
  const answer = askLine(context, 'Port?', {
    check: (_, signal) =>
      new Promise(() => {
        signal.addEventListener('abort', () => resolve('stopped'))
        press('\x03')
      }),
  })
  await until('Port?')
  press('1\r')
  await expect(answer).rejects.toMatchObject({ exitCode: 130 })
  expect(await stopped).toBe('stopped')
})

test('what a check says after the end of its question is not shown', async () => {
  const { context, until, press, shown } = terminal()
  const answer = askLine(context, 'Port?', {
    check: (_, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve('Nothing answers there.'))
        press('\x03')
      }),
  })
  await until('Port?')
  press('1\r')
  await expect(answer).rejects.toMatchObject({ exitCode: 130 })
  await setImmediate()
  expect(shown()).not.toContain('Nothing answers')
})

test('a mistake of the program is not taken for the end of the input', async () => {
  const { context } = terminal()
  await expect(askChoice(context, 'Which?', [])).rejects.toThrow(/No selectable choices/)
})

test('nothing listens to the terminal after a question', async () => {
  const { context, until, press } = terminal()
  const stream = context.stdin.stream!
  const listeners = () => ['pause', 'end', 'close'].map((name) => stream.listenerCount(name))
  const before = listeners()
  const answer = askLine(context, 'Model?', {})
  await until('Model?')
  press('x\r')
  await answer
  expect(listeners()).toEqual(before)
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

test.each(['\x03', '\x04'])('%j ends any question', async (key) => {
  const { context, until, press } = terminal()
  const answer = askYesNo(context, 'Go on?', true)
  await until('Go on?')
  press(key)
  await expect(answer).rejects.toMatchObject({ exitCode: 130 })
})
