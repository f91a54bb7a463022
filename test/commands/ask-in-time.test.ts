import { expect, test } from 'vitest'
import { questionTerminal } from '../support/question-terminal.ts'
import { configured, refusalOf, textCall, type TextCommand } from '../support/text-call.ts'

const withoutModel = { MODELGATE_BASE_URL: configured.MODELGATE_BASE_URL }

test.each<[string, TextCommand, readonly string[], Readonly<Record<string, string>>]>([
  ['prompt', 'generate', [], configured],
  ['prompt', 'respond', [], configured],
  ['model', 'generate', ['hi'], withoutModel],
])('without a key nobody is asked for a %s: %s %j', async (_, command, argv, env) => {
  const { overrides } = questionTerminal()
  const refusal = await refusalOf(command, argv, { ...overrides, env })
  expect(refusal).toMatchObject({ exit: 3, code: 'key_missing', lines: ['No API key is set.'] })
})

test('a key that cannot be used is told instead of asking', async () => {
  const env = { ...configured, MODELGATE_API_KEY: 'two words' }
  expect(await refusalOf('generate', [], { ...questionTerminal().overrides, env })).toMatchObject({ exit: 2 })
})

test.each<[string, readonly string[], Readonly<Record<string, string>>]>([
  ['with a key', [], { MODELGATE_API_KEY: 'key' }],
  ['--dry-run', ['--dry-run'], {}],
  ['--curl', ['--curl'], {}],
  ['--sandbox', ['--sandbox'], {}],
])('somebody is asked: %s', async (_, argv, env) => {
  const { overrides, until, press } = questionTerminal()
  const call = textCall('respond', argv, { ...overrides, env: { ...configured, ...env } })
  await Promise.race([until('Prompt:'), call])
  press('hello\r')
  expect((await call).request.body['input']).toBe('hello')
})

test('where nothing is missing, the key is not looked for yet', async () => {
  const { request } = await textCall('generate', ['hi'], questionTerminal().overrides)
  expect(request.model).toBe('m')
})
