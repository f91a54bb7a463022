import { existsSync, readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { titlesOfClient } from '../support/client-tests.ts'
import { generatedBlocks } from '../support/generated-blocks.ts'
import { generatedFiles } from '../support/generated-files.ts'
import { projectRoot, readPage, userPages } from '../support/pages.ts'
import { loadedProgram } from '../support/program-tree.ts'
import type { Json } from '../support/running-sandbox.ts'

describe('what is generated has not drifted', async () => {
  test.each([...(await generatedFiles())])('%s', (path, content) => {
    const kept = existsSync(new URL(path, projectRoot)) ? readPage(path) : ''
    expect(kept === content, `${path} has drifted: run npm run generate`).toBe(true)
  })
})

test('every generated block has one place', async () => {
  const names = userPages.flatMap((page) =>
    [...readPage(page).matchAll(/<!-- generated:([\w-]+) -->/g)].map(([, name]) => name),
  )
  expect(names.toSorted()).toEqual(Object.keys(generatedBlocks(await loadedProgram())).toSorted())
})

describe('what is said of the code names what is there', () => {
  const names = ['src', 'test', 'bin', 'docs', 'build', 'action/src']
    .flatMap((folder) =>
      readdirSync(new URL(folder, projectRoot), { recursive: true, encoding: 'utf8' }).map(
        (name) => `${folder}/${name.replaceAll('\\', '/')}`,
      ),
    )
    .concat('.ci/run', readdirSync(projectRoot))

  test.each(['docs/architecture.md', '.github/CONTRIBUTING.md'])('files of %s', (document) => {
    const named = [
      ...readPage(document).matchAll(/`([\w][\w./-]*\.(?:ts|c?js|md)|src\/[\w./-]+|test\/[\w./-]+)`/g),
    ].map(([, path]) => path!.replace(/\/$/, ''))
    const missing = named.filter((path) => !names.some((name) => `/${name}`.endsWith(`/${path}`)))
    expect([named.length > 10, missing]).toEqual([true, []])
  })

  test('tests that the pages of docs/ name by the beginning of their path', () => {
    const pages = names.filter((name) => /^docs\/[\w-]+\.md$/.test(name))
    const text = pages.map(readPage).join('\n')
    const named = [...text.matchAll(/`(?:npm [\w :]+ -- )?(test\/[\w./-]+)`/g)].map(([, path]) => path!)
    const missing = named.filter((path) => !names.some((name) => name.startsWith(path)))
    expect([named.length > 20, missing]).toEqual([true, []])
  })
})

describe('the table of clients in docs/sandbox.md', () => {
  const page = readPage('docs/sandbox.md')
  const table = page.slice(page.indexOf('## Clients'), page.indexOf('## HTTP'))
  const rows = [...table.matchAll(/^\| (`.*) +\|$/gm)].map(([, row]) =>
    row!.split('|').map((cell) => cell.trim()),
  )
  const clients: Readonly<Record<string, RegExp>> = {
    openai: /^openai-/,
    '@google/genai': /^google-genai/,
    '@ai-sdk/openai': /^(ai-sdk|frameworks)\./,
    '@ai-sdk/google': /^(ai-sdk|frameworks)\./,
    '@langchain/openai': /^(langchain|frameworks)\./,
    '@langchain/google-genai': /^(langchain|frameworks)\./,
    '@openai/agents': /^(agents|frameworks)\./,
  }
  const packagesOf = (cell: string) => [...cell.matchAll(/`([^`]+)` (\S+)/g)].map(([, ...named]) => named)
  const entriesOf = (cell: string) => (cell === '' ? [] : cell.split('; '))

  test('has a row for each', () => {
    expect(rows.map(([cell]) => packagesOf(cell!).at(-1)![0])).toEqual(Object.keys(clients))
  })

  test('names the versions that are tested', () => {
    const { devDependencies } = JSON.parse(readPage('package.json')) as Json
    const named = rows.flatMap(([cell]) => packagesOf(cell!))
    expect(named).toEqual(named.map(([name]) => [name, devDependencies[name!]]))
  })

  test.each(rows)('%s', (cell, passes, refused, notOffered) => {
    const client = packagesOf(cell).at(-1)![0]!
    const titles = titlesOfClient(client, clients[client]!)
    const ending = (end: string) =>
      titles.filter((title) => title.endsWith(end)).map((title) => title.slice(0, -end.length))
    expect(entriesOf(passes!).length).toBeGreaterThan(9)
    expect(entriesOf(passes!).filter((entry) => !titles.includes(entry))).toEqual([])
    expect(entriesOf(refused!).toSorted()).toEqual(ending(': refused').toSorted())
    expect(entriesOf(notOffered!).toSorted()).toEqual(ending(': not offered').toSorted())
  })
})
