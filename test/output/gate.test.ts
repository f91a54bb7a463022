import { expect, test, describe } from 'vitest'
import { GenerationError, type ErrorFacts } from '../../src/errors.ts'
import type { OutputEvent } from '../../src/events/documents.ts'
import { createGate, createRedactor, sanitiseJson } from '../../src/output/gate.ts'
import { createOutput } from '../../src/output/create-output.ts'
import { sampleEvents, sampleDocument } from '../support/output-samples.ts'
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

const angleKey = 'Key-0123456789<abc'
/** PHP, Go and .NET escape the character in the middle of the angleKey. */
const splitEscape = String.raw`"Key-0123456789\u003e."`

describe('the bytes of a reply', () => {
  test('stay as they are where standard output is no terminal, but for a angleKey that comes in pieces', () => {
    const reply = createGate(testContext(), [angleKey]).reply()
    const bytes = [Buffer.from([0xff, 0x1b, 0x00]), Buffer.from('Key-0123'), Buffer.from('456789<abc é')]
    const out = Buffer.concat(bytes.map((chunk) => reply.push(chunk) as Buffer))
    expect(out).toEqual(Buffer.concat([Buffer.from([0xff, 0x1b, 0x00]), Buffer.from('[hidden] é')]))
    expect(reply.push(Buffer.from('\u00ffKey-'))).toEqual(Buffer.from('\u00ff'))
    expect(reply.end()).toEqual(Buffer.from('Key-'))
  })

  test('are text without control characters on a terminal', () => {
    const reply = createGate(testContext({ terminal: true }), [angleKey]).reply()
    expect(reply.push(Buffer.from([0x61, 0x1b, 0xc3]))).toBe('a␛')
    expect(reply.push(Buffer.from([0xa9, 0x2e, ...Buffer.from('Key-0123')]))).toBe('é.')
    expect(reply.push(Buffer.from('456789<abc. Key-'))).toBe('[hidden]. ')
    expect(reply.end()).toBe('Key-')
  })

  test('end with a mark for a character that was cut', () => {
    const reply = createGate(testContext({ terminal: true })).reply()
    expect([reply.push(Buffer.from([0x61, 0xc3])), reply.end()]).toEqual(['a', '\ufffd'])
  })

  test('stay JSON where a angleKey is cut within an escape', () => {
    const reply = createGate(testContext({ terminal: true }), [angleKey]).reply()
    expect(`${reply.push(Buffer.from(splitEscape)) as string}${reply.end() as string}`).toBe('"[hidden]."')
  })
})

test('a stream holds back what may be the beginning of a angleKey', () => {
  const stream = createGate(testContext(), [angleKey]).stream()
  expect([stream.push('a\u001b Key-'), stream.push('0123456789<abc. Key-'), stream.end()]).toEqual([
    'a␛ ',
    '[hidden]. ',
    'Key-',
  ])
})

test('documents lose a angleKey that is split between them', () => {
  const documents = createGate(testContext(), [angleKey]).documents()
  const out = ['{"a":"Key-0123"}', '{"a":"456789<abc."}'].flatMap((json) => documents.push(json))
  expect([...out, ...documents.end()]).toEqual(['{"a":""}', '{"a":"[hidden]."}'])
})

test('each line of a report is no command to a CI runner, and outside CI it stays', () => {
  const lines = 'a ##[group]b\n::error::c\n\nd'
  const inCi = createGate(testContext({ env: { CI: 'true' } }), [angleKey])
  expect(inCi.report(`${lines} ${angleKey}`)).toBe('a ## [group]b\n: :error::c\n\nd [hidden]')
  expect(createGate(testContext(), [angleKey]).report(`${lines} ${angleKey}`)).toBe(`${lines} [hidden]`)
})

test('a document is no command to a CI runner, and outside CI it stays', () => {
  const json = `{"a":"##[group] ${angleKey}"}`
  const inCi = createGate(testContext({ env: { CI: 'true' } }), [angleKey])
  expect(inCi.document(json)).toBe(String.raw`{"a":"#\u0023[group] [hidden]"}`)
  expect(createGate(testContext(), [angleKey]).document(json)).toBe('{"a":"##[group] [hidden]"}')
})

test.each([
  ['a\r\n\nb', 9, 'a b'],
  ['abcd', 4, 'abcd'],
  ['abcde', 4, 'abc…'],
  ['ab😀c', 4, 'ab…'],
])('%j as a line of at most %i characters: %j', (text, limit, line) => {
  expect(createGate(testContext()).line(text, limit)).toBe(line)
})

test('JSON for a terminal has escapes in place of control characters', () => {
  expect(sanitiseJson('{"a":"\u007f \u202e \u{e0041}"}')).toBe(String.raw`{"a":"\u007f \u202e \udb40\udc41"}`)
  expect(sanitiseJson('{"a":"é"}')).toBe('{"a":"é"}')
})

test.each([
  // A form with a bare quotation mark cannot be within one string.
  [
    'a angleKey that looks like JSON',
    'angleKey":"0123456789',
    '{"angleKey":"0123456789"}',
    '{"angleKey":"0123456789"}',
  ],
  [
    'the same within a string',
    'angleKey":"0123456789',
    '{"a":"angleKey\\":\\"0123456789"}',
    '{"a":"[hidden]"}',
  ],
])('a document with %s', (_, secret, json, clean) => {
  expect(createRedactor([secret], true)(json)).toBe(clean)
})

test('an empty secret is in no text, not even between two spaces', () => {
  expect(createRedactor([''])('a  . b')).toBe('a  . b')
})

const redacted = (text: string, secrets: readonly string[]) => createRedactor(secrets)(text)

const oddKey = 'sk-Test/+canary=0123456789?é'

const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

test.each([
  ['as it is', oddKey],
  ['percent-encoded', encodeURIComponent(oddKey)],
  ['percent-encoded twice', encodeURIComponent(encodeURIComponent(oddKey))],
  ['percent-encoded in small letters', encodeURIComponent(oddKey).toLowerCase()],
  ['in JSON', JSON.stringify({ oddKey })],
  ['in JSON, every character escaped', [...oddKey].map(escaped).join('')],
  ['in JSON in JSON, every character escaped', [...oddKey].map((one) => `\\${escaped(one)}`).join('')],
  ['in JSON, all but letters and digits escaped', oddKey.replaceAll(/[^\dA-Za-z]/g, escaped)],
])('a oddKey %s is removed', (_, text) => {
  const clean = redacted(`before ${text} after`, [oddKey])
  expect(clean).toContain('[hidden]')
  expect(clean).toMatch(/^before [[\]hidden{}":oddKey]+ after$/)
})

test('a document gives away no part of a long oddKey', () => {
  const redactJson = createRedactor([oddKey], true)
  expect(redactJson(JSON.stringify({ [oddKey]: [`x${oddKey}`] }))).toBe('{"[hidden]":["x[hidden]"]}')
})

test.each(['json', 'jsonl', 'raw', undefined] as const)(
  'no line on standard error holds the oddKey (%s)',
  async (mode) => {
    const context = testContext()
    const output = createOutput(context, {
      mode,
      quiet: false,
      usage: true,
      gate: createGate(context, [oddKey]),
    })
    output.event(sampleEvents.start)
    // The oddKey at the place where a line is cut must not survive in part.
    for (let length = 440; length < 500; length++) {
      output.event({ type: 'warning-add', message: `${'x'.repeat(length)}${oddKey}` })
    }
    const facts = { hint: `Try ${oddKey}`, requestId: oddKey, remoteId: encodeURIComponent(oddKey) }
    await output.error(new GenerationError('generation_failed', `Bad oddKey ${oddKey}`, facts), {
      ...sampleDocument,
      response: { oddKey },
    })
    expect(context.stderr.text).not.toMatch(/sk-|canary/)
  },
)
