import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FileError, GenerationError, OutputClosed } from '../../src/errors.ts'
import { createOutput, type OutputOptions } from '../../src/output/create-output.ts'
import { rescuedIn } from '../program/images/image-run.ts'
import { memorySink } from '../support/memory-sink.ts'
import { sampleDocument, textDelta } from '../support/output-samples.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'

const full = new FileError('write_failed', 'Standard output cannot be written: no space left.')

/** An answer in two pieces on a standard output that fails after some bytes, and what the rescue folder has of it. */
function answerOn(error: Error, bytes: number, mode: OutputOptions['mode']) {
  const stdout = memorySink()
  stdout.fail(error, bytes)
  const state = temporaryFolder()
  const context = testContext({ stdout })
  const rescue = { folder: join(state, 'rescued'), name: 'answer.txt' }
  const output = createOutput(context, { mode, quiet: false, usage: false, rescue })
  const begin = async () => {
    output.event({ type: 'start', version: 1, command: 'respond', model: null })
    for (const text of ['Hello ', 'world']) {
      output.event(textDelta(text))
      output.raw(`{"text":"${text}"}\n`)
      await output.flush()
    }
  }
  return { context, output, begin, rescued: () => String(rescuedIn(state).get('answer.txt')) }
}

test.each([
  [undefined, /^Hello world\n$/],
  ['raw', /^\{"text":"Hello "\}\n\{"text":"world"\}\n$/],
  ['jsonl', /^\{"type":"start".*\n.*"Hello "\}\n.*"world"\}\n\{"type":"end".*\}\n$/],
] as const)('of the mode %s what a full disk refuses is kept as it would be written', async (mode, kept) => {
  const { output, begin, rescued } = answerOn(full, 0, mode)
  await begin()
  await expect(output.end(sampleDocument)).rejects.toThrow(
    /^Standard output cannot be written: no space left\. What was not written is kept in \/.*answer\.txt\.$/,
  )
  expect(rescued()).toMatch(kept)
})

test('what was written before the failure is not kept, but for the piece that was written in part', async () => {
  const { context, output, begin, rescued } = answerOn(full, 8, undefined)
  await begin()
  await expect(output.end(sampleDocument)).rejects.toThrow('is kept in')
  expect([context.stdout.text, rescued()]).toEqual(['Hello wo', 'world\n'])
})

test('an answer that fails, too, ends with its own error, and a warning names the file', async () => {
  const { context, output, begin, rescued } = answerOn(full, 0, 'jsonl')
  await begin()
  await output.error(new GenerationError('generation_failed', 'The generation failed.', { billed: 'yes' }))
  expect(rescued()).toMatch(/"code":"generation_failed"/)
  expect(context.stderr.text).toMatch(
    /^warning: Standard output cannot be written: no space left\. What was not written is kept in \/.*answer\.txt\.$/m,
  )
})

test('a reader that has gone wants nothing kept', async () => {
  const { output, begin, rescued } = answerOn(new OutputClosed(), 0, undefined)
  await expect(begin()).rejects.toThrow(OutputClosed)
  await output.error(new OutputClosed())
  expect(rescued()).toBe('undefined')
})
