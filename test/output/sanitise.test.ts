import { expect, test } from 'vitest'
import { sanitise } from '../../src/output/gate.ts'
import { controlsIn, terminalAttacks } from '../support/terminal-attacks.ts'

test('no attack leaves anything that could act', () => {
  expect(terminalAttacks().filter((attack) => controlsIn(sanitise(attack)).length > 0)).toEqual([])
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
