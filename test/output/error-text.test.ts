import { expect, test } from 'vitest'
import {
  Interrupted,
  ModelgateError,
  UsageError,
  type Billed,
  type ErrorFacts,
  type ExitName,
} from '../../src/errors.ts'
import { errorDocument } from '../../src/output/json-output.ts'
import { reportError } from '../../src/output/create-output.ts'
import { testContext } from '../support/test-context.ts'

async function printed(error: ModelgateError): Promise<string> {
  const context = testContext()
  await reportError(context, error, { quiet: false })
  expect(context.stdout.text).toBe('')
  return context.stderr.text
}

test('every problem has a line, what helps comes after', async () => {
  const problems = ['--top-p must be at most 1, not 3.', '--seed must be a whole number.']
  expect(await printed(new UsageError(problems, { hint: 'See modelgate help generate.' })))
    .toMatchInlineSnapshot(`
    "modelgate: --top-p must be at most 1, not 3.
    modelgate: --seed must be a whole number.
      hint: See modelgate help generate.
    "
  `)
})

test('an unknown outcome has the ids and what it may have cost', async () => {
  const facts = { requestId: 'req_1', remoteId: 'resp_1', hint: 'Look at the account before running again.' }
  const error = new ModelgateError('unknown', 'connection_lost', 'The connection was lost.', facts)
  expect(await printed(error)).toMatchInlineSnapshot(`
    "modelgate: The connection was lost.
      hint: Look at the account before running again.
      request id: req_1
      remote id: resp_1
      The request may have been billed.
    "
  `)
})

test('what was billed for certain is said so', async () => {
  const error = new ModelgateError('schema', 'schema_mismatch', 'The answer does not match.', {
    billed: 'yes',
  })
  expect(await printed(error)).toBe('modelgate: The answer does not match.\n  The request was billed.\n')
})

test.each<[ExitName, ErrorFacts, Billed]>([
  ['usage', {}, 'no'],
  ['key', {}, 'no'],
  ['rejected', {}, 'no'],
  ['later', {}, 'no'],
  ['notSent', {}, 'no'],
  ['unknown', {}, 'maybe'],
  ['contract', {}, 'maybe'],
  ['io', { phase: 'input' }, 'no'],
  ['io', { phase: 'output' }, 'maybe'],
  ['later', { billed: 'maybe' }, 'maybe'],
  ['interrupt', {}, 'no'],
  ['terminate', { phase: 'wait', billed: 'maybe' }, 'maybe'],
])('%s %j: billed %s', (exit, facts, billed) => {
  expect(errorDocument(new ModelgateError(exit, 'timeout', 'Message.', facts)).error.billed).toBe(billed)
})

test('every fact has its place in the document', () => {
  const error = new ModelgateError('later', 'http_429', 'Too many requests.', {
    phase: 'reply',
    httpStatus: 429,
    requestId: 'req_1',
    retryAfterS: 300,
    hint: 'Wait.',
    remoteId: 'resp_1',
  })
  expect(errorDocument(error)).toMatchInlineSnapshot(`
    {
      "error": {
        "billed": "no",
        "code": "http_429",
        "exit_code": 5,
        "hint": "Wait.",
        "http_status": 429,
        "message": "Too many requests.",
        "next": null,
        "phase": "reply",
        "remote_id": "resp_1",
        "request_id": "req_1",
        "rescued": [],
        "retry_after_s": 300,
      },
    }
  `)
})

test('a signal is one word', async () => {
  expect(await printed(new Interrupted('terminate'))).toBe('modelgate: Terminated.\n')
})

test('a signal after a request was sent says what that may cost', async () => {
  const interrupted = new Interrupted('interrupt').amend({ phase: 'wait', billed: 'maybe' })
  expect(await printed(interrupted)).toBe('modelgate: Stopped.\n  The request may have been billed.\n')
})

test.each([
  'You have not been charged.',
  'It was blocked; you will not be charged for it',
  'This was never billed.',
])('what the gateway says of the charge is not contradicted: %s', async (message) => {
  for (const billed of ['maybe', 'yes'] as const) {
    const error = new ModelgateError('failed', 'content_refused', message, { billed })
    expect(await printed(error)).toBe(`modelgate: ${message}\n`)
    expect(errorDocument(error)).toMatchObject({ error: { billed: 'no' } })
  }
})
