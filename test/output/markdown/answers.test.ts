import { expect, test } from 'vitest'
import { corpus, forms } from './corpus.ts'
import { readable } from './render.ts'

/** Whole answers and the forms that they are made of. */
const answers: Readonly<Record<string, string>> = { ...corpus, ...forms }

test.each(Object.keys(answers))('%s', async (name) => {
  const text = answers[name]!
  const wide = await readable(text, { columns: 80 })
  const narrow = await readable(text, { columns: 40, colors: false, hyperlinks: false })
  expect(`${wide}${'~'.repeat(40)}\n${narrow}`).toMatchSnapshot()
})
