import { expect, test } from 'vitest'
import { outputSchemas } from '../../src/events/documents.ts'
import { manifestSchema } from '../../src/pipeline/manifest/manifest-schema.ts'
import { runMain } from '../support/run-main.ts'

test.each<[string, object]>([
  ['schema', outputSchemas.output],
  ['schema output', outputSchemas.output],
  ['schema events', outputSchemas.events],
  ['schema error', outputSchemas.error],
  ['schema manifest', manifestSchema()],
])('%s prints what programs are told', async (words, expected) => {
  expect(JSON.parse((await runMain(words.split(' '))).out)).toEqual(expected)
})

test.each(['images', 'run-report', 'input'])('there is no schema %s', async (name) => {
  const err = expect.stringContaining(
    'The name must be one of output, events, error, manifest, not',
  ) as string
  expect(await runMain(['schema', name])).toMatchObject({ code: 2, out: '', err })
})
