import { expect, test } from 'vitest'
import { readPage } from '../support/pages.ts'
import type { Json } from '../support/running-sandbox.ts'

const read = (path: string) => JSON.parse(readPage(path)) as Json

const packages: Record<string, Json> = read('package-lock.json').packages
const { dependencies, scripts, allowScripts } = read('package.json')
const bundled: string[] = read('modelgate.cdx.json').components.map(({ group, name }: Json) =>
  group === undefined ? name : `${group}/${name}`,
)
const nameOf = (path: string) => path.replace(/^.*node_modules\//, '')

test('whoever installs the package installs nothing else, and runs nothing', () => {
  expect(dependencies).toBeUndefined()
  // The action, a link, is a package of this repository.
  const others = Object.entries(packages).filter(([, { dev, link }]) => dev !== true && link !== true)
  expect(others.map(([path]) => path).filter((path) => path.includes('node_modules/'))).toEqual([])
  // npm runs `prepare` of a package that is installed from a repository, too.
  expect(Object.keys(scripts).filter((name) => /^(pre|post)?(install|prepare)$/.test(name))).toEqual([])
})

test('npm may run the install script of the pinned Node, and no other', () => {
  const running = Object.keys(packages).filter((path) => packages[path]!.hasInstallScript)
  expect(running.map(nameOf).sort()).toEqual(['msgpackr-extract', 'node', 'protobufjs'])
  const allowed = Object.keys(allowScripts).filter((name) => allowScripts[name])
  expect(allowed).toEqual(['node'])
  expect(running.map(nameOf).filter((name) => !(name in allowScripts))).toEqual([])
  expect(bundled.filter((name) => running.map(nameOf).includes(name))).toEqual([])
})

test('every package in the bundle has been looked at, and none is looked at that is gone', () => {
  const [, table = ''] = readPage('docs/supply-chain.md').split(/<!-- \/?bundled -->/)
  const rows = table
    .split('\n')
    .filter((line) => /^\| (?!package|-)/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()))
  expect(rows.filter(([, , reason = '']) => reason.length < 6)).toEqual([])
  const listed = rows.flatMap(([, name, , brings = '']) => [name, ...brings.split(', ').filter(Boolean)])
  expect(listed.sort()).toEqual([...new Set(bundled)].sort())
})
