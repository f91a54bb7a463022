import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  literalTemplate,
  parseTemplate,
  slugOf,
  templateTokens,
  type TemplateValues,
} from '../../src/files/output-plan.ts'
import { hostileNames, isSafeName } from '../support/hostile-names.ts'

const values: TemplateValues = {
  index: 3,
  extension: 'png',
  model: 'image-model-a',
  prompt: 'A red fox',
  now: Date.UTC(2026, 7, 20, 23, 59),
  id: 'req_123',
}

test.each([
  ['{index}', '3'],
  ['{ext}', 'png'],
  ['{model}', 'image-model-a'],
  ['{date}', '2026-08-20'],
  ['{slug}', 'a-red-fox'],
  ['{id}', 'req_123'],
  ['out/{model}/{slug}-{index}.{ext}', 'out/image-model-a/a-red-fox-3.png'],
  ['plain.png', 'plain.png'],
  ['{{index}}-{index}', '{index}-3'],
  ['{{{index}}}', '{3}'],
  ['open{ and }close', 'open{ and }close'],
])('%s becomes %s', (text, name) => {
  expect(parseTemplate(text).expand(values)).toBe(name)
})

test('every token is known by its name, and other words are reported', () => {
  const template = parseTemplate(templateTokens.map((token) => `{${token}}`).join('') + '{Index}{}{n}{{n}}')
  expect([...template.tokens]).toEqual(templateTokens)
  expect(template.unknown).toEqual(['{Index}', '{}', '{n}'])
})

test('values that are missing have a name of their own', () => {
  const empty = { ...values, model: '', prompt: '', id: undefined }
  expect(parseTemplate('{model}_{slug}_{id}').expand(empty)).toBe('model_image_no-id')
})

test('escaped text is literal', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('{', '}', 'index', 'x')), (parts) => {
      const text = parts.join('')
      expect(parseTemplate(literalTemplate(text)).expand(values)).toBe(text)
    }),
  )
})

const ten = 'one two three four five six seven eight nine ten'

test.each([
  ['A red fox, in the snow!', 'a-red-fox-in-the-snow'],
  ['  “Grüße” aus Köln  ', 'grüße-aus-köln'],
  ['日本の山', '日本の山'],
  ['e\u0301te\u0301', 'été'],
  [`${ten} eleven`, 'one-two-three-four-five-six-seven-eight-nine-ten'],
  [`${ten}eleven`, 'one-two-three-four-five-six-seven-eight-nine'],
  ['x'.repeat(100), 'x'.repeat(48)],
  ['hi ' + 'x'.repeat(100), `hi-${'x'.repeat(45)}`],
  ['zero\u200bwidth', 'zerowidth'],
  ['😀', 'image'],
])('the slug of %j is %j', (prompt, slug) => {
  expect(slugOf(prompt)).toBe(slug)
})

describe.each(['slug', 'model', 'id'])('{%s}', (token) => {
  const bare = parseTemplate(`{${token}}`)
  const full = parseTemplate(`out/{${token}}.{ext}`)

  test.each(hostileNames)('is safe as %j', (text) => {
    const hostile = { ...values, prompt: text, model: text, id: text }
    expect(bare.expand(hostile)).toSatisfy((name: string) => isSafeName(name, 81))
    const path = full.expand(hostile)
    expect(path.startsWith('out/')).toBe(true)
    expect(path.slice(4)).toSatisfy((name: string) => isSafeName(name, 85))
  })
})

test('a device name that only the expansion makes is avoided', () => {
  const con = { ...values, prompt: 'con', model: 'nul', extension: 'png' }
  expect(parseTemplate('{model}/{slug}.{ext}').expand(con)).toBe('_nul/_con.png')
  expect(parseTemplate('co{ext}.png').expand({ ...con, extension: 'n' })).toBe('_con.png')
})
