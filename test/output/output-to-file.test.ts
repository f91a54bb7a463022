import { expect, test } from 'vitest'
import type { SavedFile } from '../../src/events/text.ts'
import { FileError, GenerationError, ModelgateError, OutputClosed } from '../../src/errors.ts'
import type { TextFile } from '../../src/files/atomic-file.ts'
import { createOutput, type OutputOptions } from '../../src/output/create-output.ts'
import { sampleDocument, sampleEvents, textDelta } from '../support/output-samples.ts'
import { testContext } from '../support/test-context.ts'

const saved: SavedFile = { path: 'a.txt', bytes: 5, sha256: 'ab'.repeat(32), mime_type: 'text/plain' }
const failure = new GenerationError('generation_failed', 'The generation failed.', { billed: 'no' })

/** An output whose text goes to a file in memory, which may refuse it. */
function outputTo(options: Partial<OutputOptions> = {}, refusal?: FileError) {
  const context = testContext()
  const kept = { text: '', state: 'open' }
  const file: TextFile = {
    path: 'a.txt',
    async commit(text) {
      if (refusal !== undefined) throw refusal
      Object.assign(kept, { text, state: 'committed' })
      return saved
    },
    async discard() {
      kept.state = 'discarded'
    },
  }
  return { context, kept, output: createOutput(context, { quiet: false, usage: false, file, ...options }) }
}

test('the file gets exactly the text, standard output nothing', async () => {
  const { context, kept, output } = outputTo()
  output.event(textDelta('Hel\ud83d'))
  await output.flush()
  output.event(textDelta('\ude00'))
  await output.end(sampleDocument)
  expect([kept.text, kept.state]).toEqual(['Hel😀', 'committed'])
  expect([context.stdout.text, context.stderr.text]).toEqual(['', 'saved a.txt (5 bytes)\n'])
})

test('an answer of pictures alone makes no empty file, and a warning says so', async () => {
  const { context, kept, output } = outputTo()
  const candidates = [{ index: 0, text: '', finish_reason: 'stop' as const }]
  await output.end({ ...sampleDocument, text: '', candidates, files: [{ ...saved, path: 'b.png' }] })
  expect(kept.state).toBe('discarded')
  expect(context.stderr.text).toBe(
    'warning: The answer has no text, so a.txt is not written; its images are in files of their own.\n',
  )
})

test('several candidates stand below one another in the file', async () => {
  const { kept, output } = outputTo()
  output.event(textDelta('second', 1))
  output.event(textDelta('first', 0))
  await output.end(sampleDocument)
  expect(kept.text).toBe('first\nsecond')
})

test('after a failure there is no file, and the text that was paid for is on standard output', async () => {
  const { context, kept, output } = outputTo()
  output.event(textDelta('Hel'))
  await output.flush()
  await output.error(failure)
  expect(kept.state).toBe('discarded')
  expect(context.stdout.text).toBe('Hel\n')
  expect(context.stderr.text).toBe(
    'warning: a.txt was not finished; the text that arrived is on standard output\n' +
      'modelgate: The generation failed.\n',
  )
})

const message = 'The answer does not match.'
const mismatch = new ModelgateError('schema', 'schema_mismatch', message, { billed: 'yes' })

test('a whole answer that does not match its schema is in the file all the same', async () => {
  const { context, kept, output } = outputTo()
  output.event(textDelta('Hel'))
  await output.flush()
  output.event(textDelta('lo'))
  await output.error(mismatch, sampleDocument)
  expect([kept.text, kept.state, context.stdout.text]).toEqual(['Hello', 'committed', ''])
  expect(context.stderr.text).toBe(
    'saved a.txt (5 bytes)\nmodelgate: The answer does not match.\n  The request was billed.\n',
  )
})

test('the same as JSON names the file', async () => {
  const { context, output } = outputTo({ mode: 'json' })
  output.event(textDelta('Hello'))
  await output.error(mismatch, sampleDocument)
  const partial = { text: 'Hello', files: [saved] }
  expect(JSON.parse(context.stderr.text)).toMatchObject({ error: { code: 'schema_mismatch' }, partial })
})

test('a mismatch whose file cannot be written is still reported, with the text on standard output', async () => {
  const refusal = new FileError('no_space', 'There is no space left.')
  const { context, kept, output } = outputTo({}, refusal)
  output.event(textDelta('Hello'))
  await output.error(mismatch, sampleDocument)
  expect([context.stdout.text, kept.state]).toEqual(['Hello\n', 'discarded'])
  expect(context.stderr.text).toBe(
    'warning: There is no space left. The text is on standard output\n' +
      'modelgate: The answer does not match.\n  The request was billed.\n',
  )
})

test('a file that cannot take its name loses no text either', async () => {
  const refusal = new FileError('file_exists', 'a.txt already exists.', { billed: 'yes' })
  const { context, kept, output } = outputTo({}, refusal)
  output.event(textDelta('Hello'))
  await expect(output.end(sampleDocument)).rejects.toBe(refusal)
  await output.error(refusal, sampleDocument)
  expect([context.stdout.text, kept.state]).toEqual(['Hello\n', 'discarded'])
})

test('a file that is in place stays, whatever fails afterwards', async () => {
  const { context, kept, output } = outputTo()
  output.event(textDelta('Hello'))
  context.stdout.fail(new OutputClosed())
  await expect(output.end(sampleDocument)).rejects.toThrow(OutputClosed)
  await output.error(new OutputClosed())
  expect(kept.state).toBe('committed')
})

test.each([
  ['json', [undefined]],
  ['jsonl', ['start', 'text-delta', 'file-save', 'end']],
] as const)('--%s names the file and keeps the text', async (mode, types) => {
  const { context, output } = outputTo({ mode })
  output.event(sampleEvents.start)
  output.event(textDelta('Hello'))
  await output.end(sampleDocument)
  const lines = context.stdout.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.map((line) => line.type)).toEqual(types)
  expect(lines.at(-1)).toMatchObject({ text: 'Hello', files: [saved] })
})
