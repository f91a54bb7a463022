import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createOutput } from '../../src/output/create-output.ts'
import { sanitise, sanitiseJson } from '../../src/output/gate.ts'
import { anyText } from '../support/any-text.ts'
import { sampleDocument, textDelta } from '../support/output-samples.ts'
import { terminalAttacks } from '../support/terminal-attacks.ts'
import { testContext } from '../support/test-context.ts'

const ranges = [
  [0x00, 0x08],
  [0x0b, 0x1f],
  [0x7f, 0x9f],
  [0x202a, 0x202e],
  [0x2066, 0x2069],
  [0xe0000, 0xe007f],
] as const

/** The code points of a text that must never reach a terminal; written without the expression under test. */
function forbidden(text: string): number[] {
  const codes = Array.from(text, (character) => character.codePointAt(0)!)
  return codes.filter((code) => ranges.some(([first, last]) => code >= first && code <= last))
}

const hostile = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...ranges.flat().map((code) => String.fromCodePoint(code))),
    fc.constantFrom('\r', '\n', '\t', '\r\n', '\ud83d', '\udc00', '\udb40'),
    fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    anyText({ maxLength: 1 }),
  ),
})

test('the corpus is as large as it says', () => {
  expect(new Set(terminalAttacks()).size).toBeGreaterThanOrEqual(300)
})

test('no attack leaves anything that could act', () => {
  expect(terminalAttacks().filter((attack) => forbidden(sanitise(attack)).length > 0)).toEqual([])
})

test('no attack acts on a terminal, wherever it is cut', async () => {
  const leaks: string[] = []
  for (const attack of terminalAttacks()) {
    for (let cut = 1; cut < attack.length; cut++) {
      const context = testContext({ terminal: true })
      const output = createOutput(context, { quiet: true, usage: false })
      output.event(textDelta(attack.slice(0, cut)))
      await output.flush()
      output.event(textDelta(attack.slice(cut)))
      await output.end(sampleDocument)
      if (forbidden(context.stdout.text).length > 0) leaks.push(attack)
    }
  }
  expect(leaks).toEqual([])
})

test('no text leaves anything that could act', () => {
  const harmless = fc.property(hostile, (text) => forbidden(sanitise(text)).length === 0)
  expect(fc.check(harmless, { numRuns: 100_000 }).counterexample).toBeNull()
})

test('JSON stays the same document', () => {
  fc.assert(
    fc.property(hostile, (text) => {
      const json = sanitiseJson(JSON.stringify({ text }))
      expect(forbidden(json)).toEqual([])
      expect(JSON.parse(json)).toEqual({ text })
    }),
  )
})

test.each([
  ['\u001b[31m', '␛[31m'],
  ['a\rb', 'a␍b'],
  ['a\r\nb', 'a\nb'],
  ['\u0000\u0007\u007f', '␀␇␡'],
  ['\u009b\u202e\u{e0041}', '\\u{9b}\\u{202e}\\u{e0041}'],
  ['tab\tline\nné 😀 👩‍👩‍👧 עברית', 'tab\tline\nné 😀 👩‍👩‍👧 עברית'],
])('%j is shown as %j', (text, shown) => {
  expect(sanitise(text)).toBe(shown)
})
