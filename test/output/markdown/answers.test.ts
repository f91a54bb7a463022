import { expect, test } from 'vitest'
import { corpus, forms } from './corpus.ts'
import { readable } from './render.ts'

test.each(Object.entries(forms))('%s', async (_, text) => {
  expect(await readable(text, { columns: 80 })).toMatchSnapshot()
})

// What "world" looks like is in the recorded screen.
test.each(Object.entries(corpus).filter(([name]) => name !== 'world'))(
  '%s at 40 columns, without colours and links',
  async (_, text) => {
    expect(await readable(text, { columns: 40, colors: false, hyperlinks: false })).toMatchSnapshot()
  },
)
