import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import { createOutput } from '../../../src/output/create-output.ts'
import { createRedactor, createStreamRedactor, sanitise, sanitiseJson } from '../../../src/output/gate.ts'
import { anyText } from '../../support/any-text.ts'
import { sampleDocument, textDelta } from '../../support/output-samples.ts'
import { controlRanges, controlsIn, terminalAttacks } from '../../support/terminal-attacks.ts'
import { testContext } from '../../support/test-context.ts'
import { cutAt, places } from '../arbitraries.ts'
import { target } from '../target.ts'

const hostileText = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...controlRanges.flat().map((code) => String.fromCodePoint(code))),
    fc.constantFrom('\r', '\n', '\t', '\r\n', '\ud83d', '\udc00', '\udb40'),
    fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    anyText({ maxLength: 1 }),
  ),
})

const sanitised = target({
  name: 'sanitise',
  promises: 'no text leaves anything that could act on a terminal, and JSON is the same document',
  cost: 'trivial',
  input: hostileText,
  check(text) {
    const json = sanitiseJson(JSON.stringify({ text }))
    assert.deepEqual([controlsIn(sanitise(text)), controlsIn(json)], [[], []])
    assert.deepEqual(JSON.parse(json), { text })
  },
})

const onTerminal = target({
  name: 'terminal-output',
  promises: 'no answer acts on a terminal, in whatever pieces it comes',
  cost: 'cheap',
  input: fc.tuple(
    fc
      .array(fc.oneof(fc.constantFrom(...terminalAttacks()), hostileText), { minLength: 1, maxLength: 4 })
      .map((parts) => parts.join('')),
    places,
  ),
  async check([text, cuts]) {
    const context = testContext({ terminal: true })
    const output = createOutput(context, { quiet: true, usage: false })
    for (const piece of cutAt(text, cuts)) {
      if (piece === '') continue
      output.event(textDelta(piece))
      await output.flush()
    }
    await output.end(sampleDocument)
    assert.deepEqual(controlsIn(context.stdout.text), [])
  },
})

/** Every way in which a key may be written. */
const writings: Readonly<Record<string, (key: string) => string>> = {
  'as it is': (key) => key,
  base64: (key) => Buffer.from(key).toString('base64'),
  'base64, one on': (key) => Buffer.from(`.${key}.`).toString('base64'),
  'base64url, two on': (key) => Buffer.from(`..${key}..`).toString('base64url'),
  hex: (key) => Buffer.from(key).toString('hex'),
  HEX: (key) => Buffer.from(key).toString('hex').toUpperCase(),
  'percent-encoded': encodeURIComponent,
  'in a query': (key) => new URLSearchParams({ '': key }).toString().slice(1),
  'in JSON': (key) => JSON.stringify(key).slice(1, -1),
  'in JSON inside JSON': (key) => JSON.stringify(JSON.stringify(key)).slice(3, -3),
}

/** A key of printable ASCII, which is all that a header takes, from 8 characters to 64 KiB. */
const key = fc
  .tuple(
    fc.string({
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
      minLength: 8,
      maxLength: 40,
    }),
    fc.oneof(
      { weight: 30, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.constantFrom(1_000, 8_192, 65_536) },
    ),
  )
  .map(([start, length]) => start + longText(start, length - start.length))

/** Text without repetition, so that a part of it says where it comes from. */
function longText(seed: string, length: number): string {
  let text = ''
  for (let count = 0; text.length < length; count++)
    text += `${seed[count % seed.length]}${count.toString(36)}`
  return text.slice(0, Math.max(0, length))
}

/** Text around a key that holds nothing of it by chance. */
const around = fc.constantFrom('', ' ', 'x', 'é', '"', '\n', '{"a":"', 'key=', '/', '😀')

const redactedKey = target({
  name: 'redact-key',
  promises: 'nothing is left of a key of any length in any of its forms, whole or in a stream of pieces',
  cost: 'dear',
  input: fc.record({
    key,
    writing: fc.constantFrom(...Object.keys(writings)),
    before: around,
    after: around,
    cuts: places,
  }),
  check({ key: secret, writing, before, after, cuts }) {
    const written = writings[writing]!(secret)
    const text = before + written + after
    const clean = createRedactor([secret])(text)
    expectHidden(clean, written, 6)
    const streamed = inPieces(createStreamRedactor([secret]), text, cuts)
    // Its first three characters may have gone out before they could be recognised.
    expectHidden(streamed, written, 9)
  },
})

function inPieces(stream: ReturnType<typeof createStreamRedactor>, text: string, cuts: readonly number[]) {
  const pieces = cutAt(text, cuts).map((piece) => stream.push(piece))
  return pieces.join('') + stream.end()
}

/** @param edge characters of a form that may stay, as those of base64 that belong to its surroundings as well */
function expectHidden(clean: string, written: string, edge: number): void {
  assert.ok(clean.includes('[hidden]'))
  const low = clean.toLowerCase()
  const inside = written.toLowerCase()
  const length = Math.min(12, inside.length - edge)
  if (length < 3) return
  for (let at = 0; at + edge + length <= Math.min(inside.length, 200); at++) {
    const part = inside.slice(at, at + edge + length)
    if (low.includes(part)) throw new Error(`${JSON.stringify(part)} of the key is left.`)
  }
}

/** Without punctuation, so that all its forms but the encoded ones are one. */
const plain = 'canaryq0123456789zabcdefghijklmnop'

/** What the redaction promises, written as plainly as can be: each character is hidden that is in a telling run. */
function expectedText(text: string, form: string): string {
  const low = text.toLowerCase()
  const isHidden = Array.from({ length: text.length }, () => false)
  const hide = (start: number, length: number) => isHidden.fill(true, start, start + length)
  for (let at = 0; at < text.length; at++) {
    for (let length = 16; length <= form.length; length++) {
      if (low.startsWith(form.slice(0, length), at)) hide(at, length)
    }
  }
  return text
    .split('')
    .map((character, at) => (isHidden[at] ? (isHidden[at - 1] ? '' : '[hidden]') : character))
    .join('')
}

const redactionRule = target({
  name: 'redact-rule',
  promises: 'what is hidden is what the rule says, and not a character more',
  cost: 'cheap',
  input: fc
    .array(
      fc.oneof(
        fc.tuple(fc.nat(33), fc.nat(34)).map(([start, length]) => plain.slice(start, start + length)),
        fc.constantFrom('c', 'can', '-', 'x', '\0', '\uffff'),
      ),
      { maxLength: 6 },
    )
    .map((parts) => parts.join('')),
  check: (text) => assert.equal(createRedactor([plain])(text), expectedText(text, plain)),
})

const escapes = ['\\', '"', '\n', '\u0001', 'x']
const odd = String.raw`ab\cdef"ghijk/lmnopqrstuvwxy\z0123`

const redactedJson = target({
  name: 'redact-json',
  promises: 'JSON stays JSON, whatever escapes stand around a key, and wherever a stream is cut',
  cost: 'moderate',
  input: fc.tuple(
    fc.array(
      fc
        .array(fc.constantFrom(...[0, 1, 14].map((from) => odd.slice(from)), odd.slice(0, 14), ...escapes), {
          maxLength: 4,
        })
        .map((words) => words.join('')),
      { maxLength: 4 },
    ),
    places,
  ),
  check([strings, cuts]) {
    const json = JSON.stringify({ strings })
    const whole = createRedactor([odd], true)(json)
    assert.ok(Array.isArray((JSON.parse(whole) as { strings: unknown }).strings))
    const clean = inPieces(createStreamRedactor([odd], true), json, cuts)
    const read = (JSON.parse(clean) as { strings: string[] }).strings
    assert.equal(read.length, strings.length)
    assert.ok(!read.some((text) => text.includes(odd)))
  },
})

export const outputTargets = [sanitised, onTerminal, redactedKey, redactionRule, redactedJson]
