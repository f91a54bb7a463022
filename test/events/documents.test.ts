import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import {
  eventTypes,
  outputSchemas,
  type OutputSchemaName,
  type OutputDocument,
  type OutputEvent,
} from '../../src/events/documents.ts'
import { GenerationError } from '../../src/errors.ts'
import { createOutput } from '../../src/output/create-output.ts'
import * as samples from '../support/output-samples.ts'
import { sampleWorker } from '../support/worker-samples.ts'
import * as runs from '../support/run-samples.ts'
import { testContext } from '../support/test-context.ts'

const { sampleDocument, sampleEvents, sampleModels, textDelta } = samples

const validators = new Map<string, ValidateFunction>()

/** The schema as published; or closed, so that a field which it does not know is an error. */
function validator(name: OutputSchemaName, { closed = false } = {}): ValidateFunction {
  const id = `${name} ${closed}`
  const known = validators.get(id)
  if (known !== undefined) return known
  const schema = JSON.stringify(outputSchemas[name])
  const closedSchema = schema.replaceAll('"type":"object",', '"type":"object","additionalProperties":false,')
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true })
  const validate = ajv.compile(JSON.parse(closed ? closedSchema : schema) as object)
  validators.set(id, validate)
  return validate
}

const textDocument: OutputDocument = {
  ...sampleDocument,
  files: [sampleEvents['file-save'].file],
  citations: [sampleEvents['citation-add'].citation],
  warnings: ['odd'],
}

/** A configured family may leave the limits of its pictures out, and have a ratio that is no whole number. */
function unlimited(model: (typeof sampleModels.models)[number]) {
  const size = { multiple_of: 16, max_ratio: 1.5, max_edge: 2048, min_pixels: 1, max_pixels: 4_194_304 }
  const endpoints = model.endpoints.map((endpoint) => ({
    ...endpoint,
    limits: endpoint.limits.map((limit) => ({ ...limit, size })),
  }))
  const sources = { max_count: null, below_bytes: null, media_types: ['image/png'], square: false }
  return { ...model, endpoints, sources }
}

async function linesOf(
  mode: 'json' | 'jsonl',
  end: 'end' | 'error',
  document = textDocument,
): Promise<unknown[]> {
  const context = testContext()
  const output = createOutput(context, { mode, quiet: true, usage: false })
  for (const event of Object.values(sampleEvents) as OutputEvent[]) output.event(event)
  const failure = new GenerationError('generation_failed', 'The generation failed.')
  if (end === 'end') await output.end(document)
  else await output.error(failure, document)
  const text = mode === 'json' && end === 'error' ? context.stderr.text : context.stdout.text
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
}

test.each(['end', 'error'] as const)(
  'every line of --jsonl that ends with %s is described, whole',
  async (end) => {
    const validate = validator('events', { closed: true })
    const lines = await linesOf('jsonl', end)
    expect(lines).toHaveLength(eventTypes.length + 1)
    expect(lines.filter((line) => !validate(line))).toEqual([])
  },
)

test.each([
  textDocument,
  samples.sampleVideoDocument,
  samples.sampleVideosDocument,
  samples.sampleJobList,
  samples.sampleInspections,
  samples.sampleLog,
  samples.sampleCallDocument,
  samples.sampleClearing,
  samples.sampleSettings,
  samples.samplePlaces,
  samples.sampleKeys,
  samples.sampleChecks,
  runs.sampleRun,
  { ...runs.sampleRun, command: 'run merge', instances: [], left: [] },
  runs.sampleRunChange,
  { ...runs.sampleRunChange, command: 'run adopt', instances: [] },
  runs.sampleRunReport,
  runs.sampleRunRestore,
  { ...runs.sampleRunRestore, restored: 1, adopted: 'Ada, 2026-11-26' },
  { ...runs.sampleRun, command: 'run pull', mode: 'frozen' },
  runs.sampleRunPush,
  runs.sampleRunClean,
  { ...runs.sampleRunClean, items: [] },
  sampleWorker,
  sampleModels,
  { ...sampleModels, models: sampleModels.models.map(unlimited) },
] as const)('the document of $command and its error document are described, whole', async (of) => {
  for (const [schema, mode, end] of [
    ['output', 'json', 'end'],
    ['events', 'jsonl', 'end'],
    ['error', 'json', 'error'],
  ] as const) {
    const validate = validator(schema, { closed: true })
    const document = (await linesOf(mode, end, of)).at(-1)
    expect([validate(document), validate.errors]).toEqual([true, null])
  }
})

test('the samples hold one of every event', () => {
  expect(Object.keys(sampleEvents).sort()).toEqual([...eventTypes].sort())
})

test('a field that a later version adds is accepted, one that is missing is not', () => {
  const validate = validator('output')
  expect(validate({ ...sampleDocument, added: 1 })).toBe(true)
  for (const name of Object.keys(sampleDocument)) {
    expect(validate({ ...sampleDocument, [name]: undefined })).toBe(false)
  }
  expect(validate({ ...sampleDocument, finish_reason: 'tired' })).toBe(false)
})

test('a line of --jsonl is exactly one kind of event', () => {
  const validate = validator('events')
  expect(validate(textDelta('a'))).toBe(true)
  expect(validate({ type: 'text-delta', text: 'a' })).toBe(false)
  expect(validate({ type: 'unheard-of' })).toBe(false)
})
