import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { load } from 'js-yaml'
import { expect, test } from 'vitest'
import { readImageInfo } from '../../src/files/image-info.ts'
import { codeBlocks, projectRoot, readPage } from '../support/pages.ts'
import { runMain } from '../support/run-main.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

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
  const isValid = new Ajv2020().validate(
    JSON.parse(readPage('examples/person.json')) as object,
    JSON.parse(out),
  )
  expect([code, isValid]).toEqual([0, true])
})

test('the mask has the size of its picture', () => {
  const [room, wall] = ['room.png', 'wall.png'].map((name) => readImageInfo(bytesOf(name))!)
  expect([wall!.width, wall!.height, wall!.hasAlpha]).toEqual([room!.width, room!.height, true])
  expect(readImageInfo(bytesOf('boat.jpg'))).toMatchObject({ format: 'jpeg', width: 1024 })
})

test('the excerpts of the workflow and of the faults are those of the files', () => {
  const withoutIndent = (text: string) => text.replaceAll(/^ +/gm, '')
  const workflow = withoutIndent(readPage('examples/workflow.yaml'))
  const excerpt = codeBlocks(readPage('docs/ci.md')).find(({ language }) => language === 'yaml')
  expect(workflow).toContain(withoutIndent(excerpt!.text))
  const faults = codeBlocks(readPage('docs/sandbox.md')).find(({ text }) => text.includes('id: busy'))
  expect(load(faults!.text)).toEqual(load(readPage('examples/faults.yaml')))
})
