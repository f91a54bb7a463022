import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { actionFiles } from '../../build/action.ts'
import { projectRoot } from '../support/pages.ts'
import { actionFile } from './runner.ts'

const folder = (name: string) => fileURLToPath(new URL(name, projectRoot))
const sources = readdirSync(folder('action/src')).map((name) =>
  readFileSync(folder(`action/src/${name}`), 'utf8'),
)
const source = sources.join('\n')

test('the bundle that is checked in is that of the sources: npm run build:action', async () => {
  const built = await actionFiles()
  const names = readdirSync(folder('action/dist')).toSorted()
  expect(names).toEqual([...built.keys()].toSorted())
  const differing = names.filter(
    (name) => readFileSync(folder(`action/dist/${name}`), 'utf8') !== built.get(name),
  )
  expect(differing).toEqual([])
})

test('it is ASCII, of a size that one can fetch on each run, and names what is in it', () => {
  const names = readdirSync(folder('action/dist')).filter((name) => name.endsWith('.js'))
  const texts = names.map((name) => readFileSync(folder(`action/dist/${name}`), 'latin1'))
  expect(texts.filter((text) => /[^\0-\x7f]/.test(text))).toEqual([])
  expect(texts.join('').length).toBeLessThan(1_400_000)
  const notices = readFileSync(folder('action/dist/THIRD-PARTY-NOTICES'), 'utf8')
  expect(notices).toContain('- @actions/cache ')
})

test('action.yml says what GitHub wants to know', () => {
  const { name, runs, inputs, outputs } = actionFile
  expect([name, runs]).toEqual([
    'modelgate',
    { using: 'node24', main: 'action/dist/main.js', post: 'action/dist/post.js' },
  ])
  expect([runs.main, runs.post].filter((path) => !existsSync(folder(path)))).toEqual([])
  const described = Object.entries({ ...inputs, ...outputs })
  expect(described.filter(([, { description }]) => !/^\S.*\.\s*$/s.test(description))).toEqual([])
  // Whatever is no text, the runner refuses or reads otherwise.
  const presets = Object.values(inputs).flatMap(({ default: preset }) => preset ?? [])
  expect(presets.filter((preset) => typeof preset !== 'string')).toEqual([])
})

test('each input that the sources read is declared, and the other way round', () => {
  const read = [...source.matchAll(/\b(?:text|choice|getInput)\(\s*'([\w-]+)'/g)].map(([, name]) => name!)
  expect([...new Set(read)].toSorted()).toEqual(Object.keys(actionFile.inputs).toSorted())
})

test('each output that the sources or the program write is declared, and the other way round', () => {
  const own = [...source.matchAll(/\bsetOutput\('(\w+)'/g)].map(([, name]) => name!)
  const program = readFileSync(folder('src/output/step-output.ts'), 'utf8')
  const numbers = /function numbersOf[^]*?return \{([^]*?)\n {2}\}/.exec(program)![1]!
  const named = [...numbers.matchAll(/^ {4}(\w+)/gm)].map(([, name]) => name!)
  expect([...own, ...named, 'files', 'failures'].toSorted()).toEqual(
    Object.keys(actionFile.outputs).toSorted(),
  )
})
