import { expect, test } from 'vitest'
import { corpus, forms } from './corpus.ts'
import { readable } from './render.ts'

test.each(Object.entries(forms))('%s', async (_, text) => {
  expect(await readable(text, { columns: 80 })).toMatchSnapshot()
})

test.each(['guide', 'comparison'])('%s at 40 columns, without colours and links', async (name) => {
  const narrow = { columns: 40, colors: false, hyperlinks: false }
  expect(await readable(corpus[name]!, narrow)).toMatchSnapshot()
})
