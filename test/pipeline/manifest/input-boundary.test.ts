import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ModelgateError } from '../../../src/errors.ts'
import { readManifest } from '../../../src/pipeline/manifest/read-manifest.ts'
import { pngBytes } from '../../support/image-bytes.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'

const png = pngBytes()

/** The ways in which a manifest names a file, each with the line and column where it does. */
const ways: readonly (readonly [
  way: string,
  ending: string,
  job: (path: string) => string,
  place: string,
])[] = [
  ['a prompt', 'txt', (path) => `respond: { input: { file: "${path}" } }, out: a.txt`, '3:34'],
  ['an attachment', 'txt', (path) => `respond: { input: x, attach: "${path}" }, out: a.txt`, '3:37'],
  ['a picture', 'png', (path) => `image edit: { prompt: x, image: "${path}" }, out: a.png`, '3:40'],
  [
    'a mask',
    'png',
    (path) => `image edit: { prompt: x, image: own.png, mask: "${path}" }, out: a.png`,
    '3:55',
  ],
  ['a schema', 'json', (path) => `respond: { input: x, schema: "${path}" }, out: a.json`, '3:37'],
  [
    'the schema of an assert',
    'json',
    (path) => `respond: { input: x }, assert: { schema: "${path}" }, out: a.json`,
    '3:49',
  ],
  ['rows', 'csv', (path) => `each: "${path}", respond: { input: "\${id}" }, out: "\${id}.txt"`, '3:14'],
]

/** What is wrong with a manifest with one job, in `repo/assets` of a folder. */
async function mistakesOf(top: string, job: string, rest = ''): Promise<readonly string[]> {
  const folder = join(top, 'repo/assets')
  writeFiles(folder, { 'modelgate.yaml': `version: 1\njobs:\n  a: { ${job} }\n${rest}`, 'own.png': png })
  try {
    const options = { isSandbox: false, env: {}, families: {} }
    await readManifest(testContext({ cwd: folder }), join(folder, 'modelgate.yaml'), options)
    return []
  } catch (error) {
    if (!(error instanceof ModelgateError)) throw error
    return error.message.split('\n')
  }
}

const files = {
  'secret.txt': 'the key to the house',
  'secret.png': png,
  'secret.json': '{}',
  'secret.csv': 'id\na\n',
}
const inside = Object.fromEntries(
  Object.entries(files).map(([name, content]) => [name.replace('secret', 'shared'), content]),
)
test.each(ways)('%s lies in the repository, or nothing is read', async (_, ending, job, place) => {
  const top = temporaryFolder()
  writeFiles(top, files)
  writeFiles(join(top, 'repo'), { ...inside, '.git/HEAD': 'ref: refs/heads/main\n' })
  mkdirSync(join(top, 'repo/assets'))
  symlinkSync('../../secret.' + ending, join(top, 'repo/assets/link.' + ending))
  symlinkSync('../..', join(top, 'repo/assets/up'))

  expect(await mistakesOf(top, job(`../shared.${ending}`))).toEqual([])
  const outside = ['../../secret', '../../missing', '../../repo-2/x', 'link', 'up/secret']
  for (const path of outside.map((name) => `${name}.${ending}`)) {
    expect(await mistakesOf(top, job(path))).toEqual([
      `modelgate.yaml:${place}: "${path}" is outside of the manifest's repository: a manifest can only use files inside it.`,
    ])
  }
})

test('without a repository inputs lie in the folder of the manifest', async () => {
  const top = temporaryFolder()
  writeFiles(top, { 'repo/shared.txt': 'x', 'repo/assets/own.txt': 'x' })
  const [, , prompt] = ways[0]!
  expect(await mistakesOf(top, prompt('own.txt'))).toEqual([])
  expect(await mistakesOf(top, prompt('../assets/own.txt'))).toEqual([])
  expect(await mistakesOf(top, prompt('../shared.txt'))).toEqual([
    `modelgate.yaml:3:34: "../shared.txt" is outside of the manifest's folder: a manifest can only use files inside it.`,
  ])
})

test('what Git keeps of a repository is no input: it may hold credentials', async () => {
  const top = temporaryFolder()
  writeFiles(top, { 'repo/.git/config': '[remote]\n' })
  mkdirSync(join(top, 'repo/assets'))
  symlinkSync('../.git/config', join(top, 'repo/assets/link.txt'))
  const [, , prompt] = ways[0]!
  for (const path of ['../.git/config', '../.GIT/config', 'link.txt']) {
    expect(await mistakesOf(top, prompt(path))).toEqual([
      `modelgate.yaml:3:34: "${path}" is in .git, which no manifest can use.`,
    ])
  }
})
