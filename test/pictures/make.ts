/** Makes docs/pictures/ from sessions of the built program in a pseudo-terminal. `npm run pictures [NAME…]`. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { projectRoot } from '../support/generated-files.ts'
import { picturesOf, scenes } from './scenes.ts'

const folder = new URL('docs/pictures/', projectRoot)
const names = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
for (const scene of scenes.filter(({ name }) => names.length === 0 || names.includes(name))) {
  for (const [name, svg] of await picturesOf(scene)) writeFileSync(new URL(name, folder), svg)
}
