import { expect, test } from 'vitest'
import { corpus, forms } from './corpus.ts'
import { readable } from './render.ts'

test.each(Object.entries({ ...corpus, ...forms }))('%s', async (_, text) => {
  expect(await readable(text, { columns: 80 })).toMatchSnapshot()
})

test.each(['guide', 'comparison', 'world', 'links', 'long lines', 'wide characters'])(
  '%s at 40 columns, without colours and links',
  async (name) => {
    const text = { ...corpus, ...forms }[name]!
    expect(await readable(text, { columns: 40, colors: false, hyperlinks: false })).toMatchSnapshot()
  },
)
