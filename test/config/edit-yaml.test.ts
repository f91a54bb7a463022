import * as fc from 'fast-check'
import { parse } from 'yaml'
import { expect, test } from 'vitest'
import { changedData, type Change, editYaml } from '../../src/config/edit-config.ts'
import { runs } from '../support/sample.ts'

/** A comment on a line of its own, or at the end of the line of what it is named after. */
const ownLine = fc.constantFrom('', '', '', '\n', '# NOTE\n', '\n# NOTE\n\n', '# NOTE\n# NOTE\n')
const lineEnd = fc.constantFrom('', '', ' # AT', '   # AT')

const scalar = fc.constantFrom('5', 'x', "'single'", '"double"', '"a: # b"', '~', 'true', '>-\n      folded')
const names = ['timeout', 'text_model', 'retry', 'quiet', '"quoted"'] as const
const setting = fc.tuple(fc.constantFrom(...names), scalar, ownLine, lineEnd)
const settings = fc.uniqueArray(setting, { selector: ([name]) => name, maxLength: 4 })
const items = fc.uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c', "'d'"), ownLine, lineEnd), {
  selector: ([item]) => item,
  minLength: 1,
  maxLength: 3,
})
const list = fc.oneof(
  fc.constantFrom('[a, b]', '[]', '[\n  a,\n  b\n  ]').map((text) => ` ${text}\n`),
  items.map(
    (all) => `\n${all.map(([item, above, at]) => `${above}  - ${item}${named(at, 'list')}\n`).join('')}`,
  ),
)
const profile = fc.oneof(
  fc.constantFrom('{}', '{ timeout: 1, retry: x }', '').map((text) => ` ${text}\n`),
  settings.filter((all) => all.length > 0).map((all) => `\n${lines(all, '    ', 'p.')}`),
)
const profiles = fc
  .uniqueArray(fc.tuple(fc.constantFrom('p', 'q', 'r'), ownLine, profile), {
    selector: ([name]) => name,
    minLength: 1,
    maxLength: 3,
  })
  .map((all) => `profiles:\n${all.map(([name, above, text]) => `${above}  ${name}:${text}`).join('')}`)

/** Notes that end the line of a setting name it: they may go with it. */
function named(comment: string, name: string): string {
  return comment.replace('AT', `AT ${name}`)
}

function lines(all: readonly (readonly [string, string, string, string])[], indent: string, prefix: string) {
  return all
    .map(([name, value, above, at]) => {
      const end = value.includes('\n') ? '' : named(at, prefix + name.replaceAll('"', ''))
      return `${above}${indent}${name}: ${value}${end}\n`
    })
    .join('')
}

/** A file whose comments are numbered. */
const file = fc
  .tuple(settings, fc.option(fc.tuple(ownLine, list)), fc.option(fc.tuple(ownLine, profiles)), ownLine)
  .map(([top, listed, nested, end]) => {
    const text = [
      lines(top, '', ''),
      listed === null ? '' : `${listed[0]}trusted_origins:${listed[1]}`,
      nested === null ? '' : nested.join(''),
      end,
    ].join('')
    let number = 0
    return text.replaceAll(/NOTE|AT/g, (word) => `${word}${number++}`)
  })

const value = fc.constantFrom<unknown[]>(
  1,
  'text',
  'a: b',
  '# no comment',
  'yes',
  '',
  false,
  'two words',
  '0x1',
)
const change = fc.oneof(
  fc.record({
    path: fc.oneof(
      fc.constantFrom(...names).map((name) => [name.replaceAll('"', '')]),
      fc
        .tuple(fc.constantFrom('p', 'q', 'new'), fc.constantFrom(...names))
        .map(([name, key]) => ['profiles', name, key.replaceAll('"', '')]),
    ),
    value: fc.oneof(value, fc.constant(undefined)),
  }),
  fc.record({
    path: fc.constant(['trusted_origins']),
    value: fc.subarray(['a', 'b', 'c', 'd', 'e', 'x: y']),
  }),
)

/** The comments on lines of their own. */
function notes(text: string): string[] {
  return text.match(/^\s*# NOTE\d+$/gm)?.map((line) => line.trim()) ?? []
}

/** The comments at the end of a line, but those of settings that were changed. */
function lineNotes(text: string, changed: ReadonlySet<string>): string[] {
  const found = [...text.matchAll(/# AT\d+ (\S+)/g)]
  return found.flatMap(([note, owner]) => (changed.has(owner!) ? [] : [note]))
}

test('the comment above a setting outlives it, and brackets keep their form', async () => {
  const unset = (text: string) => editYaml(text, { path: ['model'], value: undefined })
  expect(await unset('# note\nmodel: a # mine\nlist: [a, b]\n')).toBe('# note\nlist: [a, b]\n')
  expect(await unset('list: [ a, b ]\n# note\nmodel: a\n')).toBe('list: [ a, b ]\n# note\n')
  expect(await unset('model: a # mine\n\n# note\n')).toBe('\n# note\n')
})

test('any sequence of changes leaves every other value and comment', async () => {
  const run = async (before: string, changes: readonly Change[]) => {
    let text = before
    const changed = new Set<string>()
    for (const { path, value } of changes as Change[]) {
      const expected = changedData(parse(text) ?? {}, { path, value })
      const next = await editYaml(text, { path, value })
      if (next === undefined) throw new Error(`not edited: ${path.join('.')}`)
      expect(parse(next) ?? {}).toEqual(expected)
      text = next
      if (path[0] === 'trusted_origins') changed.add('list')
      else if (value === undefined) changed.add(path.at(-1)!).add(`p.${path.at(-1)}`)
    }
    expect(lineNotes(text, changed)).toEqual(lineNotes(before, changed))
    // Comments within a list go with it.
    for (const note of changed.has('list') ? [] : notes(before)) expect(text).toContain(note)
    // Nor twice.
    const all = text.match(/# (?:NOTE|AT)\d+/g) ?? []
    expect(all).toHaveLength(new Set(all).size)
  }
  await fc.assert(fc.asyncProperty(file, fc.array(change, { minLength: 1, maxLength: 4 }), run), runs(200))
})
