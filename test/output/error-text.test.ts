import { expect, test } from 'vitest'
import { Interrupted, ModelgateError, UsageError } from '../../src/errors.ts'
import { errorDocument } from '../../src/output/json-output.ts'
import { reportError } from '../../src/output/create-output.ts'
import { testContext } from '../support/test-context.ts'

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
