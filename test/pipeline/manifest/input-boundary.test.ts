import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pngBytes } from '../../support/image-bytes.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { mistakesIn } from './manifest-files.ts'

const png = pngBytes()

/** The ways in which a manifest names a file, each with the extension, and the line and column where it does. */
const ways: readonly (readonly [ending: string, place: string, job: string])[] = [
  ['txt', '3:34', 'respond: { input: { file: "PATH" } }, out: a.txt'],
  ['txt', '3:37', 'respond: { input: x, attach: "PATH" }, out: a.txt'],
  ['png', '3:40', 'image edit: { prompt: x, image: "PATH" }, out: a.png'],
  ['png', '3:55', 'image edit: { prompt: x, image: own.png, mask: "PATH" }, out: a.png'],
  ['json', '3:37', 'respond: { input: x, schema: "PATH" }, out: a.json'],
  ['json', '3:49', 'respond: { input: x }, assert: { schema: "PATH" }, out: a.json'],
  ['csv', '3:14', 'each: "PATH", respond: { input: "${id}" }, out: "${id}.txt"'],
]
const prompt = ways[0]![2]

/** What is wrong with a manifest with one job, in `repo/assets` of a folder. */
function mistakesOf(top: string, job: string, path: string): Promise<readonly string[]> {
  const manifest = `version: 1\njobs:\n  a: { ${job.replace('PATH', path)} }\n`
  return mistakesIn(manifest, { 'own.png': png }, { folder: join(top, 'repo/assets') })
}

const files = (name: string) => ({
  [`${name}.txt`]: 'the key to the house',
  [`${name}.png`]: png,
  [`${name}.json`]: '{}',
  [`${name}.csv`]: 'id\na\n',
})

test.each(ways)('a %s at %s of %s lies in the repository, or nothing is read', async (ending, place, job) => {
  const top = temporaryFolder()
  writeFiles(top, files('secret'))
  writeFiles(join(top, 'repo'), { ...files('shared'), '.git/HEAD': 'ref: refs/heads/main\n' })
  mkdirSync(join(top, 'repo/assets'))
  symlinkSync('../../secret.' + ending, join(top, 'repo/assets/link.' + ending))
  symlinkSync('../..', join(top, 'repo/assets/up'))

  expect(await mistakesOf(top, job, `../shared.${ending}`)).toEqual([])
  const outside = ['../../secret', '../../missing', '../../repo-2/x', 'link', 'up/secret']
  for (const path of outside.map((name) => `${name}.${ending}`)) {
    expect(await mistakesOf(top, job, path)).toEqual([
      `modelgate.yaml:${place}: "${path}" is outside of the manifest's repository: a manifest can only use files inside it.`,
    ])
  }
})

test('without a repository inputs lie in the folder of the manifest', async () => {
  const top = temporaryFolder()
  writeFiles(top, { 'repo/shared.txt': 'x', 'repo/assets/own.txt': 'x' })
  expect(await mistakesOf(top, prompt, 'own.txt')).toEqual([])
  expect(await mistakesOf(top, prompt, '../assets/own.txt')).toEqual([])
  expect(await mistakesOf(top, prompt, '../shared.txt')).toEqual([
    `modelgate.yaml:3:34: "../shared.txt" is outside of the manifest's folder: a manifest can only use files inside it.`,
  ])
})

test('what Git keeps of a repository is no input: it may hold credentials', async () => {
  const top = temporaryFolder()
  writeFiles(top, { 'repo/.git/config': '[remote]\n' })
  mkdirSync(join(top, 'repo/assets'))
  symlinkSync('../.git/config', join(top, 'repo/assets/link.txt'))
  for (const path of ['../.git/config', '../.GIT/config', 'link.txt']) {
    expect(await mistakesOf(top, prompt, path)).toEqual([
      `modelgate.yaml:3:34: "${path}" is in .git, which no manifest can use.`,
    ])
  }
})
