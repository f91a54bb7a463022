import { expect, test } from 'vitest'
import { createOutput } from '../../src/output/create-output.ts'
import { sanitise } from '../../src/output/gate.ts'
import { sampleDocument, textDelta } from '../support/output-samples.ts'
import { controlsIn, terminalAttacks } from '../support/terminal-attacks.ts'
import { testContext } from '../support/test-context.ts'

test('the corpus is as large as it says', () => {
  expect(new Set(terminalAttacks()).size).toBeGreaterThanOrEqual(300)
})

test('no attack leaves anything that could act', () => {
  expect(terminalAttacks().filter((attack) => controlsIn(sanitise(attack)).length > 0)).toEqual([])
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
      if (controlsIn(context.stdout.text).length > 0) leaks.push(attack)
    }
  }
  expect(leaks).toEqual([])
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
