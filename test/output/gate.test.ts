import { expect, test } from 'vitest'
import { GenerationError, type ErrorFacts } from '../../src/errors.ts'
import type { OutputEvent } from '../../src/events/documents.ts'
import { createGate } from '../../src/output/gate.ts'
import { createOutput } from '../../src/output/create-output.ts'
import { sampleEvents } from '../support/output-samples.ts'
import { testContext } from '../support/test-context.ts'

const commands = [
  'add-mask',
  'stop-commands',
  'error',
  'warning',
  'set-env name=a',
  'set-output name=a',
  'group',
  'debug',
]
const starts = ['', ' ', '\n', '\r', '\r\n', 'text\n', '\t', '\u001b', '\u2028']
const payloads = starts.flatMap((start) =>
  commands.flatMap((command) => [
    `${start}::${command}::x`,
    `${start}##[${command}]x`,
    `${start}##vso[${command}]x`,
  ]),
)

/** Every string inside an event or a set of facts replaced. */
function poison<Value>(value: Value, payload: string): Value {
  return JSON.parse(JSON.stringify(value), (name, inner: unknown) =>
    typeof inner === 'string' && name !== 'type' ? payload : inner,
  ) as Value
}

/** Ours: the title and the message are data, in which nothing is a command. */
const annotation = /^::(?:error|warning) title=[^:,]+::/
const isCommand = (line: string) => line.trimStart().startsWith('::') || /##\w*\[/.test(line)

test.each([
  ['GITHUB_ACTIONS', undefined],
  ['TF_BUILD', undefined],
  ['TEAMCITY_VERSION', undefined],
  ['CI', undefined],
  ['CI', 'json'],
  ['CI', 'jsonl'],
  ['CI', 'raw'],
] as const)('with %s set no line is a command to the runner (%s)', async (variable, mode) => {
  const facts: ErrorFacts = { hint: 'hint', requestId: 'id', remoteId: 'id', billed: 'maybe' }
  const bad: string[] = []
  for (const payload of payloads) {
    const context = testContext({ env: { [variable]: 'true' } })
    const output = createOutput(context, { mode, quiet: false, usage: false })
    for (const event of Object.values(sampleEvents) as OutputEvent[]) output.event(poison(event, payload))
    await output.error(new GenerationError('generation_failed', payload, poison(facts, payload)))
    const lines = context.stderr.text.split(/[\r\n]/)
    bad.push(...lines.filter((line) => isCommand(line) && !annotation.test(line)))
  }
  expect(bad).toEqual([])
})

test('outside CI the words stay as they are', () => {
  const context = testContext()
  const output = createOutput(context, { quiet: false, usage: false })
  output.event({ type: 'warning-add', message: '::a ##[b' })
  expect(context.stderr.text).toBe('warning: ::a ##[b\n')
})

test('standard error is sanitised although it is no terminal', () => {
  const context = testContext()
  const output = createOutput(context, { quiet: false, usage: false })
  output.event({ type: 'warning-add', message: 'a\u001b[2J\nb\u202e' })
  expect(context.stderr.text).toBe('warning: a␛[2J b\\u{202e}\n')
})

test('a line too long to be read is cut, not in the middle of a character', () => {
  const context = testContext()
  const output = createOutput(context, { quiet: false, usage: false })
  output.event({ type: 'warning-add', message: '😀'.repeat(1_000_000) })
  expect(context.stderr.text).toMatch(/^warning: 😀{200,250}…\n$/u)
})

test('a key that comes in pieces is in none of the words on standard error', async () => {
  const key = 'sk-Test-canary-0123456789-abcdef'
  const context = testContext({ terminal: true, env: { NO_COLOR: '1' } })
  const output = createOutput(context, { gate: createGate(context, [key]), quiet: false, usage: false })
  for (const text of ['The key ', ...key.match(/.{1,5}/g)!, ' it is, sk-Te', '.']) {
    output.event({ type: 'reasoning-delta', text })
    await output.flush()
  }
  await output.error(new GenerationError('generation_failed', 'It broke.'))
  expect(context.stderr.text).toContain('The key [hidden] it is, sk-Te.\n')
})

test('the key of the environment is hidden by every gate, and one that becomes known later from then on', () => {
  const gate = createGate(testContext({ env: { MODELGATE_API_KEY: 'sk-environment-key' } }))
  expect(gate.text('sk-environment-key sk-later-key')).toBe('[hidden] sk-later-key')
  gate.hide('sk-later-key')
  expect(gate.text('sk-environment-key sk-later-key')).toBe('[hidden] [hidden]')
})

test('what one gate has learnt to hide, all gates of the process hide, and those of no other', () => {
  const context = testContext()
  const [before, other] = [createGate(context), createGate(testContext())]
  expect(before.text('key-0123456789')).toBe('key-0123456789')
  createGate({ ...context, cwd: '/elsewhere' }).hide('key-0123456789')
  const gates = [before, createGate(context), other]
  expect(gates.map((gate) => gate.text('key-0123456789'))).toEqual(['[hidden]', '[hidden]', 'key-0123456789'])
})

test('a secret that is known to one gate alone is hidden by that one', () => {
  const context = testContext()
  const gate = createGate(context, ['key-0123456789'])
  expect(gate.text('key-0123456789')).toBe('[hidden]')
  expect(createGate(context).text('key-0123456789')).toBe('key-0123456789')
})
