import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { FileError, GenerationError, Interrupted, OutputClosed } from '../../src/errors.ts'
import { createOutput } from '../../src/output/create-output.ts'
import { anyText } from '../support/any-text.ts'
import { sampleDocument, textDelta } from '../support/output-samples.ts'
import { testContext } from '../support/test-context.ts'

const failure = new GenerationError('generation_failed', 'The generation failed.')

/** Any string of UTF-16 units, surrogates without partner included, and where it is cut. */
const loneSurrogate = fc.integer({ min: 0xd800, max: 0xdfff }).map((unit) => String.fromCharCode(unit))
const cutText = fc.string({ unit: fc.oneof(anyText({ maxLength: 3 }), loneSurrogate) }).chain((text) =>
  fc.array(fc.nat(text.length), { maxLength: 8 }).map((cuts) => {
    const edges = [0, ...cuts.sort((a, b) => a - b), text.length]
    return { text, pieces: edges.slice(1).map((edge, index) => text.slice(edges[index], edge)) }
  }),
)

/** An output for plain text. */
function opened() {
  const context = testContext()
  return { context, output: createOutput(context, { quiet: false, usage: false }) }
}

function withNewline(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}

test('plain: exactly the bytes of the text, however it was cut, and one newline if there is none', async () => {
  await fc.assert(
    fc.asyncProperty(cutText, fc.boolean(), async ({ text, pieces }, flushEach) => {
      const { context, output } = opened()
      for (const piece of pieces) {
        output.event(textDelta(piece))
        if (flushEach) await output.flush()
      }
      await output.end(sampleDocument)
      expect(context.stdout.bytes).toEqual(Buffer.from(withNewline(text)))
      expect(context.stderr.text).toBe('')
    }),
  )
})

test('plain: after a failure the output is a prefix of the text and one newline', async () => {
  await fc.assert(
    fc.asyncProperty(cutText, fc.nat(8), async ({ pieces }, arrived) => {
      const { context, output } = opened()
      const prefix = pieces.slice(0, arrived).join('')
      for (const piece of pieces.slice(0, arrived)) output.event(textDelta(piece))
      await output.error(failure)
      // Half a character at the end would not be a prefix of the text's bytes.
      const whole = prefix.replace(/[\ud800-\udbff]$/, '')
      expect(context.stdout.bytes).toEqual(Buffer.from(withNewline(whole)))
      expect(context.stderr.text).toContain('modelgate: The generation failed.\n')
    }),
  )
})

test('other candidates follow the first, by index, each on a new line', async () => {
  const { context, output } = opened()
  output.event(textDelta('two ', 2))
  output.event(textDelta('ze', 0))
  output.event(textDelta('one\n', 1))
  output.event(textDelta('words', 2))
  output.event(textDelta('ro', 0))
  await output.flush()
  expect(context.stdout.text).toBe('zero')
  await output.end(sampleDocument)
  expect(context.stdout.text).toBe('zero\none\ntwo words\n')
})

test('a slow reader holds back the flush, and nothing is lost', async () => {
  const { context, output } = opened()
  context.stdout.hold()
  output.event(textDelta('Hello'))
  let flushed = false
  const flushing = output.flush().then(() => (flushed = true))
  await context.clock.advance(0)
  expect(flushed).toBe(false)
  context.stdout.release()
  await flushing
  expect(context.stdout.text).toBe('Hello')
})

test.each([new OutputClosed(), new FileError('write_failed', 'Standard output cannot be written.')])(
  'flush and end report a standard output that fails: $code',
  async (reason) => {
    const { context, output } = opened()
    context.stdout.fail(reason)
    output.event(textDelta('Hello'))
    await expect(output.flush()).rejects.toBe(reason)
    await expect(output.end(sampleDocument)).rejects.toBe(reason)
  },
)

test('a reader that has gone is no news; a failure is, even then', async () => {
  const { context, output } = opened()
  context.stdout.fail(new OutputClosed())
  await output.error(new OutputClosed())
  expect(context.stderr.text).toBe('')
  await output.error(failure)
  expect(context.stderr.text).toContain('modelgate: The generation failed.')
})

test('--usage prints one line of counts, after the text and after an error', async () => {
  for (const end of ['end', 'error']) {
    const context = testContext()
    const output = createOutput(context, { quiet: true, usage: true })
    if (end === 'end') await output.end(sampleDocument)
    else await output.error(new Interrupted('interrupt'), sampleDocument)
    expect(context.stderr.text).toMatch(/^tokens: 3 in \(0 cached\), 5 out, 8 total$/m)
  }
})
