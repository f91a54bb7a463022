import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sourceFacts } from './support/source-facts.ts'

/**
 * Modules inside packages, which these may move or change with any version: the version that has been looked at, and
 * what of each is used. After an update, read the module anew, then the file of ours that imports it.
 */
const looked: Readonly<Record<string, readonly [version: string, place: string, type: string]>> = {
  'ajv/dist/2019.js': ['8.20.0', 'Ajv2019', 'function'],
  'ajv/dist/2020.js': ['8.20.0', 'Ajv2020', 'function'],
  'cosmiconfig/dist/Explorer.js': ['10.0.1', 'Explorer.prototype.search', 'function'],
  'undici/lib/api/api-connect.js': ['8.12.4', 'default', 'function'],
  'undici/lib/core/symbols.js': ['8.12.4', 'default.kParser', 'symbol'],
  'undici/lib/dispatcher/client.js': ['8.12.4', 'default.prototype.dispatch', 'function'],
  'undici/lib/dispatcher/env-http-proxy-agent.js': ['8.12.4', 'default.prototype.dispatch', 'function'],
}

const root = join(import.meta.dirname, '..')
const packages = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

/** Which modules inside packages src/ imports: more than a name, and no entry that the package exports. */
function innerImports(): string[] {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  const names = files
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .flatMap((name) => sourceFacts(readFileSync(join(root, 'src', name), 'utf8')).imports)
  return [...new Set(names)].filter((name) => /^[a-z][^:]*\/(?:lib|dist)\//.test(name)).sort()
}

test('every module inside a package has been looked at', () => {
  expect(innerImports()).toEqual(Object.keys(looked))
})

test.each(Object.entries(looked))(
  '%s is pinned to the version that was looked at',
  async (name, [version, place, type]) => {
    const owner = name.split('/')[0]!
    const pinned = { ...packages.dependencies, ...packages.devDependencies }[owner]
    expect(pinned, `${owner} moved: read ${name} anew`).toBe(version)
    const module: unknown = await import(name)
    const found = place.split('.').reduce((value, key) => (value as Record<string, unknown>)[key], module)
    expect(typeof found, `${name} has no longer what we take from it`).toBe(type)
  },
)
