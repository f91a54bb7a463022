import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { load } from 'js-yaml'
import { expect, test } from 'vitest'
import { readImageInfo } from '../../src/files/image-info.ts'
import { manifestSchema } from '../../src/pipeline/manifest/manifest-schema.ts'
import { readManifest } from '../../src/pipeline/manifest/read-manifest.ts'
import { codeBlocks, projectRoot, readPage } from '../support/pages.ts'
import { runMain } from '../support/run-main.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'

const examples = fileURLToPath(new URL('examples/', projectRoot))
const bytesOf = (name: string) => readFileSync(`${examples}${name}`)

test('config.yaml is a valid configuration', async () => {
  const { code, err } = await runMain(['config', 'list'], { env: { MODELGATE_CONFIG_DIR: examples } })
  expect([code, err]).toEqual([0, ''])
})

test('person.json is a schema that an answer can follow', async () => {
  const { url } = await runningSandbox()
  const env = { MODELGATE_BASE_URL: url, MODELGATE_API_KEY: 'key', MODELGATE_STATE_DIR: temporaryFolder() }
  const words = ['respond', '--schema', `${examples}person.json`, 'Invent a person']
  const { code, out } = await runMain(words, { env, cwd: temporaryFolder() })
  const schema = JSON.parse(readPage('examples/person.json')) as object
  const isValid = new Ajv2020().validate(schema, JSON.parse(out))
  expect([code, isValid]).toEqual([0, true])
})

test('the masks have the size of their pictures', () => {
  const [room, wall] = ['room.png', 'wall.png'].map((name) => readImageInfo(bytesOf(name))!)
  expect([wall!.width, wall!.height, wall!.hasAlpha]).toEqual([room!.width, room!.height, true])
  const mask = readImageInfo(bytesOf('pipelines/game/masks/body.png'))
  expect(mask).toMatchObject({ format: 'png', width: 1024, height: 1024, hasAlpha: true })
  expect(readImageInfo(bytesOf('boat.jpg'))).toMatchObject({ format: 'jpeg', width: 1024 })
})

test.each([
  ['shop', 8],
  ['game', 8],
  ['docs-site', 12],
  ['trailer', 5],
  ['storyboard', 3],
])('the pipeline of the %s is a manifest without mistakes', async (name, count) => {
  const path = `${examples}pipelines/${name}/modelgate.yaml`
  const manifest = await readManifest(testContext(), path, { isSandbox: true, env: {}, families: {} })
  expect([manifest.instances.size, manifest.warnings]).toEqual([count, []])
})

const pipelinesBlocks = () =>
  codeBlocks(readPage('docs/pipelines.md')).filter(({ language }) => language === 'yaml')

test('every piece of a manifest on the page about pipelines is valid', () => {
  const schema = manifestSchema()
  const validate = new Ajv2020({ strict: false }).compile(schema)
  const hero = { 'image create': { prompt: 'x' }, out: 'hero.png' }
  const pieces = pipelinesBlocks().filter(({ text }) => !text.startsWith('- '))
  expect(pieces.length).toBeGreaterThan(4)
  for (const { text } of pieces) {
    const piece = load(text) as Record<string, unknown>
    const names = Object.keys(piece)
    const ofJob = names.every((name) => name === 'assert')
    const isTop = names.every((name) => Object.hasOwn(schema['properties'] as object, name))
    const jobs = ofJob ? { jobs: { hero: { ...hero, ...piece } } } : { jobs: piece }
    const manifest = { version: 1, jobs: { hero }, ...(isTop ? piece : jobs) }
    const valid = validate(manifest)
    expect({ text, valid, errors: validate.errors }).toEqual({ text, valid: true, errors: null })
  }
})

test('the README shows a part of the shop', () => {
  const block = codeBlocks(readPage('README.md')).find(({ text }) => text.includes('products.csv'))
  const { jobs } = load(readPage('examples/pipelines/shop/modelgate.yaml')) as { jobs: object }
  expect(jobs).toMatchObject(load(block!.text) as object)
})

const withoutIndent = (text: string) => text.replaceAll(/^ +/gm, '')

test.each([
  ['docs/pipelines.md', '- ', 'examples/pipelines/workflow.yaml'],
  ['docs/ci.md', 'git log', 'examples/workflow.yaml'],
  ['docs/ci.md', 'script:', 'examples/pipelines/gitlab-ci.yml'],
])('%s shows what has %j as it is in %s', (page, words, file) => {
  const blocks = codeBlocks(readPage(page)).filter(({ language }) => language === 'yaml')
  const isIt = (text: string) => (words === 'git log' ? text.includes(words) : text.startsWith(words))
  const excerpt = blocks.find(({ text }) => isIt(text))!
  expect(withoutIndent(readPage(file))).toContain(withoutIndent(excerpt.text))
})

test('the faults of docs/sandbox.md are those of the file, and the workflow of pipelines has a merge', () => {
  const faults = codeBlocks(readPage('docs/sandbox.md')).find(({ text }) => text.includes('id: busy'))
  expect(load(faults!.text)).toEqual(load(readPage('examples/faults.yaml')))
  expect(load(readPage('examples/pipelines/workflow.yaml'))).toHaveProperty('jobs.merge')
})
