import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createMatcher } from '../../src/redact/matcher.ts'
import { hideSpans } from '../../src/redact/spans.ts'
import { PieceStream, TextStream } from '../../src/redact/streams.ts'
import { runs } from '../support/sample.ts'

const key = 'Key-0123456789-ab'
const matcher = createMatcher([key, String.raw`a\u00e9bcdefgh`])

/** Cuts a text at some places. */
const cuts = (text: string) =>
  fc.array(fc.nat(text.length), { maxLength: 6 }).map((places) => {
    const sorted = [0, ...places.toSorted((a, b) => a - b), text.length]
    return sorted.slice(1).map((end, at) => text.slice(sorted[at], end))
  })

describe('a text in pieces', () => {
  test('is passed on but for an end that may begin a key', () => {
    const stream = new TextStream(matcher)
    expect([stream.push('hello '), stream.kept, stream.hasHidden]).toEqual(['hello ', '', false])
    expect([stream.push('Key-01'), stream.kept, stream.hasHidden]).toEqual(['', 'Key-01', false])
    expect([stream.push('23456789-ab and'), stream.kept, stream.hasHidden]).toEqual([
      '[hidden] and',
      '',
      true,
    ])
    expect([stream.push(' on'), stream.hasHidden]).toEqual([' on', false])
    expect([stream.push(' Key-'), stream.end(), stream.kept]).toEqual([' ', 'Key-', ''])
    expect(stream.end()).toBe('')
  })

  test('has hidden nothing before it begins', () => {
    expect(new TextStream(matcher).hasHidden).toBe(false)
  })

  test('may begin with a key', () => {
    expect(new TextStream(matcher).push(`${key}. `)).toBe('[hidden]. ')
  })

  test('tells once that it has hidden a key', () => {
    const stream = new TextStream(matcher)
    expect([stream.push(`${key}K`), stream.hasHidden]).toEqual(['[hidden]', true])
    expect([stream.push('x'), stream.hasHidden]).toEqual(['Kx', false])
  })

  test('of JSON loses the whole escape in which a key is cut, other text only the key', () => {
    const form = String.raw`Key-0123456789-abcdefgh\u003cxyz`
    const matcher = createMatcher([form])
    const whole = String.raw`"Key-0123456789-abcdefgh\u003e`
    const json = new TextStream(matcher, true)
    expect([json.push(whole), json.kept]).toEqual(['"[hidden]', ''])
    expect(json.push('."')).toBe('."')
    const pieces = new TextStream(matcher, true)
    expect([pieces.push(whole.slice(0, -1)), pieces.kept]).toEqual(['"[hidden]', String.raw`\u003`])
    expect(pieces.push('e."')).toBe('."')
    expect(new TextStream(matcher).push(`${whole}."`)).toBe('"[hidden]e."')
  })

  test('hides a key once, however many pieces it comes in', () => {
    const stream = new TextStream(matcher)
    const out = [...`a${key}${key}b`].map((character) => stream.push(character))
    expect(`${out.join('')}${stream.end()}`).toBe('a[hidden]b')
  })
})

test('a long key in single characters is hidden once, and its first three characters stay', () => {
  const secret = 'Key-0123456789-'.repeat(20)
  for (const isJson of [false, true]) {
    const stream = new TextStream(createMatcher([secret]), isJson)
    const out = [...`a ${secret}b`].map((character) => stream.push(character))
    expect(`${out.join('')}${stream.end()}`).toBe('a Key[hidden]b')
  }
})

describe('documents that hold a text in pieces', () => {
  const redact = (json: string) => hideSpans(json, matcher.find(json), true)
  const delta = (text: string, index = 0) => `{"index":${index},"delta":"${text}"}`
  const streamOf = () => new PieceStream(matcher, redact)

  test('are passed on at once while nothing may be a key', () => {
    const stream = streamOf()
    expect(stream.push(delta('hello '))).toEqual([delta('hello ')])
    expect(stream.push(delta(key))).toEqual([delta('[hidden]')])
    expect(stream.push(delta('.'))).toEqual([delta('.')])
    expect(stream.end()).toEqual([])
  })

  test('wait for what follows an end that may be a key, and those behind them wait too', () => {
    const stream = streamOf()
    expect(stream.push(delta('a Key-01'))).toEqual([])
    expect(stream.push(delta('b', 1))).toEqual([])
    expect(stream.push(delta('c'))).toEqual([delta('a Key-01'), delta('b', 1), delta('c')])
  })

  test('lose a key that is split between them, and keep the rest in its place', () => {
    const stream = streamOf()
    expect(stream.push(delta('a Key-01'))).toEqual([])
    expect(stream.push(delta('2345'))).toEqual([])
    expect(stream.push(delta('6789-ab b Ke'))).toEqual([delta('a '), delta('')])
    expect(stream.push(delta('y!'))).toEqual([delta('[hidden] b Ke'), delta('y!')])
  })

  test('go on as soon as their ends are no beginning of a key', () => {
    const stream = streamOf()
    expect(stream.push(delta('a Key-'))).toEqual([])
    expect(stream.push(delta('Ke'))).toEqual([delta('a Key-')])
    expect(stream.end()).toEqual([delta('Ke')])
  })

  test('lose the whole escape in which a key is cut', () => {
    const cut = createMatcher([String.raw`Key-0123456789\u003cabc`])
    const stream = new PieceStream(cut, (json) => json)
    expect(stream.push(delta(String.raw`Key-0123456789\u003e.`))).toEqual([delta('[hidden].')])
  })

  test('are texts of their own by their index', () => {
    const stream = streamOf()
    expect(stream.push(delta('Key-01', 0))).toEqual([])
    expect(stream.push(delta('23456789-ab', 1))).toEqual([])
    expect(stream.end()).toEqual([delta('Key-01', 0), delta('23456789-ab', 1)])
  })

  test('are given back a few characters at a time, each in its own place', () => {
    const stream = streamOf()
    const pieces = ['xK', 'e', 'y', '-', '01', '.']
    const out = pieces.flatMap((piece) => stream.push(delta(piece)))
    expect([...out, ...stream.end()]).toEqual(pieces.map((piece) => delta(piece)))
  })

  test('do not wait for ever: of more than 64 the oldest go on', () => {
    const stream = streamOf()
    expect(stream.push(delta('Key-', 0))).toEqual([])
    for (let count = 1; count < 64; count++) expect(stream.push(delta('Key-', count))).toEqual([])
    expect(stream.push(delta('Key-', 64))).toEqual([delta('Key-', 0)])
    expect(stream.end()).toHaveLength(64)
  })

  test('with very many strings are no pieces of a text, and keep their turn', () => {
    const many = (count: number) => JSON.stringify(Array.from({ length: count }, () => 'Key-'))
    const stream = streamOf()
    expect(stream.push(many(201))).toEqual([many(201)])
    expect(stream.push(many(200))).toEqual([])
    expect(stream.push(many(201))).toEqual([])
    expect(stream.end()).toEqual([many(200), many(201)])
    expect(streamOf().push(`[${many(201)},"${key}"]`)).toEqual([`[${many(201)},"[hidden]"]`])
  })

  test('of very many texts are followed a while, and not all remembered', () => {
    const stream = streamOf()
    // The text of the first of 200 others is forgotten, unless its end is waited for.
    expect(stream.push(delta('x', 0))).toHaveLength(1)
    for (let count = 1; count <= 300; count++) expect(stream.push(delta('x', count))).toHaveLength(1)
    expect(stream.push(delta('Key-01', 1000))).toEqual([])
    expect(stream.push(delta('23456789-ab.', 1000))).toEqual([delta('', 1000), delta('[hidden].', 1000)])
  })

  test('of a text whose end may be a key are remembered beside very many others', () => {
    const stream = streamOf()
    expect(stream.push(delta('Key-01', 1000))).toEqual([])
    for (let count = 0; count < 300; count++) stream.push(delta('x', count))
    expect(stream.push(delta('23456789-ab.', 1000))).toEqual([delta('[hidden].', 1000)])
  })

  test('hold no piece of a key, wherever the text is cut', () => {
    const text = `x ${key} y ${key}Key-`
    fc.assert(
      fc.property(cuts(text), (pieces) => {
        const stream = streamOf()
        const out = [...pieces.flatMap((piece) => stream.push(delta(piece))), ...stream.end()]
        expect(out).toHaveLength(pieces.length)
        const texts = out.map((json) => (JSON.parse(json) as { delta: string }).delta)
        expect(texts.join('')).toBe('x [hidden] y [hidden]Key-')
      }),
      runs(300),
    )
  })
})
