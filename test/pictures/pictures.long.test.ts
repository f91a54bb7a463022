import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { projectRoot } from '../support/generated-files.ts'
import { picturesOf, scenes } from './scenes.ts'

const folder = new URL('docs/pictures/', projectRoot)
const read = (name: string) => {
  const file = new URL(name, folder)
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

// `npm run pictures` makes them anew.
test.each(scenes)(
  'the picture "$name" shows what the program does now',
  async (scene) => {
    for (const [name, svg] of await picturesOf(scene)) expect(svg).toBe(read(name))
  },
  120_000,
)

test('there are no others, and none is large, runs a script or loads anything', () => {
  const names = readdirSync(folder).sort()
  expect(names).toEqual(scenes.flatMap(({ name }) => [`${name}-dark.svg`, `${name}-light.svg`]).sort())
  for (const name of names) {
    const svg = read(name)!
    expect(svg.length).toBeLessThan(400_000)
    expect(svg.replace('xmlns="http://www.w3.org/2000/svg"', '')).not.toMatch(
      /<script|on\w+=|https?:|url\(|@import/,
    )
  }
})
