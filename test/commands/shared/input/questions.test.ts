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
import { testContext } from '../../../support/test-context.ts'

function terminal() {
  const { overrides, ...rest } = questionTerminal()
  return { ...rest, context: testContext(overrides) }
}

test('Enter takes the present answer', async () => {
  const { context, until, press } = terminal()
  const answer = askLine(context, 'Model?', { present: 'some-model' })
  await until('(some-model)')
  press('\r')
  expect(await answer).toBe('some-model')
})

test('without a present answer, Enter leaves a question open', async () => {
  const { context, until, press } = terminal()
  const answer = askLine(context, 'Model?', {})
  await until('Model?')
  press('\r')
  expect(await answer).toBe('')
})

test('a refused answer is corrected where it stands', async () => {
  const { context, until, press } = terminal()
  const answer = askLine(context, 'Port?', {
    check: async (value) => (value === '8080' ? undefined : 'Nothing answers there.'),
  })
  await until('Port?')
  press('808\r')
  await until('Nothing answers there.')
  press('0\r')
  expect(await answer).toBe('8080')
})

test('a check that fails is told, and the question goes on', async () => {
  const { context, until, press } = terminal()
  let isFirst = true
  const answer = askLine(context, 'Port?', {
    async check() {
      if (isFirst) throw new Error('The check failed.', { cause: (isFirst = false) })
      return undefined
    },
  })
  await until('Port?')
  press('1\r')
  await until('The check failed.')
  press('\r')
  expect(await answer).toBe('1')
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

test.each([
  ['y\r', true],
  ['n\r', false],
  ['\r', true],
])('yes or no: %j', async (keys, expected) => {
  const { context, until, press } = terminal()
  const answer = askYesNo(context, 'Go on?', true)
  await until('Go on?')
  press(keys)
  expect(await answer).toBe(expected)
})

const choices = ['one', 'two', 'three'].map((value) => ({ value, name: value }))

test('one of a few', async () => {
  const { context, until, press } = terminal()
  const answer = askChoice(context, 'Which?', choices, 'two')
  await until('three')
  press('\x1b[B\r')
  expect(await answer).toBe('three')
})

test('behind the last of a few comes nothing', async () => {
  const { context, until, press } = terminal()
  const answer = askChoice(context, 'Which?', choices, 'three')
  await until('three')
  press('\x1b[B\r')
  expect(await answer).toBe('three')
})

test('of many, the one that is marked', async () => {
  const { context, until, press } = terminal()
  const answer = askSearch(context, 'Which?', () => choices)
  await until('three')
  press('\x1b[B\r')
  expect(await answer).toBe('two')
})

test('one of many, by a part of it', async () => {
  const { context, until, press } = terminal()
  const answer = askSearch(context, 'Which?', (typed) => choices.filter(({ name }) => name.includes(typed)))
  await until('three')
  press('hr')
  await until('Which? hr')
  press('\r')
  expect(await answer).toBe('three')
})

test.each(['\x03', '\x04'])('%j ends any question', async (key) => {
  const { context, until, press } = terminal()
  const answer = askYesNo(context, 'Go on?', true)
  await until('Go on?')
  press(key)
  await expect(answer).rejects.toMatchObject({ exitCode: 130 })
})
