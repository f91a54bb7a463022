import { expect, test } from 'vitest'
import {
  ContractError,
  FileError,
  GenerationError,
  Interrupted,
  ModelgateError,
  OutputClosed,
  UsageError,
} from '../../src/errors.ts'
import { createOutput, reportError } from '../../src/output/create-output.ts'
import { errorDocument } from '../../src/output/json-output.ts'
import { sampleDocument, sampleEvents, textDelta } from '../support/output-samples.ts'
import { testContext } from '../support/test-context.ts'

const facts = { requestId: 'req_1', httpStatus: 429, retryAfterS: 300, hint: 'Wait.', remoteId: 'resp_1' }
const failure = new GenerationError('generation_failed', 'The generation failed.', facts)

function outputOf(mode: 'json' | 'jsonl' | 'raw', terminal = false) {
  const context = testContext({ terminal, env: { NO_COLOR: '1' } })
  const output = createOutput(context, { mode, quiet: false, usage: false })
  const lines = () =>
    context.stdout.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  return { context, output, lines }
}

/** An object nested to the given depth. */
function nested(depth: number): unknown {
  let value: unknown = 'bottom'
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? { a: value } : [value]
  return value
}

test('json: one document at the end, on one line in a pipe', async () => {
  const { context, output } = outputOf('json')
  output.event(sampleEvents.start)
  output.event(textDelta('Hello'))
  await output.flush()
  expect(context.stdout.text).toBe('')
  await output.end(sampleDocument)
  expect(context.stdout.text).toBe(`${JSON.stringify(sampleDocument)}\n`)
  expect(context.stderr.text).toBe('')
})

test('json: indented on a terminal, where nothing in it can act; still the same document', async () => {
  const { context, output } = outputOf('json', true)
  const document = { ...sampleDocument, text: 'a\u001b[2J\u009b1m\u202e\u{e0041}\u007f é' }
  await output.end(document)
  expect(context.stdout.text).toContain('\n  "text": "a\\u001b[2J\\u009b1m\\u202e\\udb40\\udc41\\u007f é",\n')
  expect(JSON.parse(context.stdout.text)).toEqual(document)
})

test('json: a failure is one document on standard error, with what had arrived', async () => {
  const { context, output } = outputOf('json')
  output.event(textDelta('Hello'))
  await output.error(failure, sampleDocument)
  expect(context.stdout.text).toBe('')
  expect(JSON.parse(context.stderr.text)).toEqual({
    error: {
      billed: 'maybe',
      code: 'generation_failed',
      exit_code: 9,
      hint: 'Wait.',
      http_status: 429,
      message: 'The generation failed.',
      next: null,
      phase: 'result',
      remote_id: 'resp_1',
      request_id: 'req_1',
      rescued: [],
      retry_after_s: 300,
    },
    partial: sampleDocument,
  })
})

test('json: a failure before anything arrived has no partial document', async () => {
  const { context, output } = outputOf('json')
  await output.error(failure, { ...sampleDocument, id: null, text: '', candidates: [], tool_calls: [] })
  expect(Object.keys(JSON.parse(context.stderr.text))).toEqual(['error'])
})

test('jsonl: start is first, one line is last, and nothing follows it', async () => {
  const { output, lines } = outputOf('jsonl')
  output.event(sampleEvents['warning-add'])
  output.event(sampleEvents.start)
  output.event(textDelta('Hello'))
  await output.flush()
  await output.end(sampleDocument)
  output.event(textDelta('too late'))
  await output.flush()
  await output.error(failure)
  expect(lines().map((line) => line.type)).toEqual(['start', 'warning-add', 'text-delta', 'end'])
  expect(lines().at(-1)).toEqual({ type: 'end', ...sampleDocument })
})

test('jsonl: a failure is the last line on standard output', async () => {
  const { context, output, lines } = outputOf('jsonl')
  output.event(sampleEvents.start)
  output.event(textDelta('Hel'))
  await output.error(failure)
  const error = { code: 'generation_failed', exit_code: 9, request_id: 'req_1' }
  expect(lines()).toMatchObject([{ type: 'start' }, { type: 'text-delta' }, { type: 'error', error }])
  expect(context.stderr.text).toBe('')
})

test('jsonl: with standard output gone a failure is reported on standard error', async () => {
  const { context, output } = outputOf('jsonl')
  context.stdout.fail(new FileError('write_failed', 'Standard output cannot be written.'))
  await output.error(failure)
  expect(JSON.parse(context.stderr.text).error.code).toBe('generation_failed')
})

test.each(['json', 'jsonl', 'raw'] as const)('%s: nothing is said when the reader has gone', async (mode) => {
  const { context, output } = outputOf(mode)
  await output.error(new OutputClosed())
  expect([context.stdout.text, context.stderr.text]).toEqual(['', ''])
})

test.each([513, 1_000, 1_000_000])('a reply %d levels deep is exit 8, not a crash', async (depth) => {
  for (const mode of ['json', 'jsonl'] as const) {
    const { context, output } = outputOf(mode)
    const document = { ...sampleDocument, response: nested(depth) }
    const error: unknown = await output.end(document).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(ContractError)
    await output.error(error as ContractError, document)
    expect(context.stdout.text + context.stderr.text).toContain('"exit_code":8')
  }
})

test('a reply 512 levels deep is printed', async () => {
  const { output, lines } = outputOf('json')
  await output.end({ ...sampleDocument, response: nested(512) })
  expect(lines()).toMatchObject([{ id: sampleDocument.id }])
})

test('a deep tool call is refused as an event and shortened as a notice', () => {
  const call = { type: 'function' as const, id: null, name: 'deep', arguments: nested(5_000) }
  const lines = outputOf('jsonl')
  lines.output.event(sampleEvents.start)
  expect(() => lines.output.event({ type: 'tool-call', index: 0, call })).toThrow(ContractError)
  const raw = outputOf('raw')
  raw.output.event({ type: 'tool-call', index: 0, call })
  expect(raw.context.stderr.text).toBe('tool call: deep(…)\n')
})

test('raw: each piece as it came, each ending in one newline', async () => {
  const { context, output } = outputOf('raw')
  output.raw('{ "a":1 }')
  output.event(textDelta('unseen'))
  output.raw('{"b":"\u202e"}\n')
  await output.flush()
  await output.end(sampleDocument)
  expect(context.stdout.text).toBe('{ "a":1 }\n{"b":"\u202e"}\n')
})

test('raw: on a terminal nothing in it can act', async () => {
  const { context, output } = outputOf('raw', true)
  output.raw('<html>\u001b[2J')
  await output.end(sampleDocument)
  expect(context.stdout.text).toBe('<html>␛[2J\n')
})

test.each([
  ['json', 'stderr'],
  ['jsonl', 'stdout'],
  [undefined, 'stderr'],
] as const)('an error before there is an output (%s) is on %s alone', async (json, stream) => {
  const context = testContext()
  await reportError(context, failure, { json, quiet: true })
  const other = stream === 'stdout' ? 'stderr' : 'stdout'
  expect(context[other].text).toBe('')
  expect(context[stream].text).toContain('The generation failed.')
})

async function printed(error: ModelgateError): Promise<string> {
  const context = testContext()
  await reportError(context, error, { quiet: false })
  expect(context.stdout.text).toBe('')
  return context.stderr.text
}

const problems = ['--top-p must be at most 1, not 3.', '--seed must be a whole number.']
const ids = { requestId: 'req_1', remoteId: 'resp_1' }

test.each<[ModelgateError, string]>([
  [
    new UsageError(problems, { hint: 'See modelgate help generate.' }),
    'modelgate: --top-p must be at most 1, not 3.\nmodelgate: --seed must be a whole number.\n' +
      '  hint: See modelgate help generate.\n',
  ],
  [
    new ModelgateError('unknown', 'connection_lost', 'It was lost.', { ...ids, hint: 'Look first.' }),
    'modelgate: It was lost.\n  hint: Look first.\n  request id: req_1\n  remote id: resp_1\n' +
      '  The request may have been billed.\n',
  ],
  [
    new ModelgateError('schema', 'schema_mismatch', 'It does not match.', { billed: 'yes' }),
    'modelgate: It does not match.\n  The request was billed.\n',
  ],
  [new Interrupted('terminate'), 'modelgate: Terminated.\n'],
  [
    new Interrupted('interrupt').amend({ phase: 'wait', billed: 'maybe' }),
    'modelgate: Stopped.\n  The request may have been billed.\n',
  ],
])('%s: all problems, what helps, the ids, and what it may have cost', async (error, text) => {
  expect(await printed(error)).toBe(text)
})

test('what the gateway says of the charge is not contradicted', async () => {
  const message = 'It was blocked; you will not be charged for it'
  for (const billed of ['maybe', 'yes'] as const) {
    const error = new ModelgateError('failed', 'content_refused', message, { billed })
    expect(await printed(error)).toBe(`modelgate: ${message}\n`)
    expect(errorDocument(error)).toMatchObject({ error: { billed: 'no' } })
  }
})
