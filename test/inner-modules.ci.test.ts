import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sourceFacts } from './support/source-facts.ts'

/**
 * Modules inside packages, which these may move or change with any version: the version that has been looked at, and
 * what of each is used. After an update, read the module anew, then the file of ours that imports it.
 */
const looked: Readonly<
  Record<string, { readonly version: string; readonly has: (module: Record<string, unknown>) => boolean }>
> = {
  'ajv/dist/2019.js': {
    version: '8.20.0',
    has: ({ Ajv2019 }) => typeof Ajv2019 === 'function',
  },
  'ajv/dist/2020.js': {
    version: '8.20.0',
    has: ({ Ajv2020 }) => typeof Ajv2020 === 'function',
  },
  'cosmiconfig/dist/Explorer.js': {
    version: '10.0.1',
    has: ({ Explorer }) =>
      typeof (Explorer as { prototype: { search: unknown } }).prototype.search === 'function',
  },
  'undici/lib/api/api-connect.js': {
    version: '8.12.4',
    has: ({ default: connect }) => typeof connect === 'function',
  },
  'undici/lib/core/symbols.js': {
    version: '8.12.4',
    has: ({ default: symbols }) => typeof (symbols as { kParser: unknown }).kParser === 'symbol',
  },
  'undici/lib/dispatcher/client.js': {
    version: '8.12.4',
    has: ({ default: Client }) =>
      typeof (Client as { prototype: { dispatch: unknown } }).prototype.dispatch === 'function',
  },
  'undici/lib/dispatcher/env-http-proxy-agent.js': {
    version: '8.12.4',
    has: ({ default: Agent }) =>
      typeof (Agent as { prototype: { dispatch: unknown } }).prototype.dispatch === 'function',
  },
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
  async (name, { version, has }) => {
    const owner = name.split('/')[0]!
    expect(
      { ...packages.dependencies, ...packages.devDependencies }[owner],
      `${owner} moved: read ${name} anew`,
    ).toBe(version)
    const module = (await import(name)) as Record<string, unknown>
    expect(has(module), `${name} has no longer what we take from it`).toBe(true)
  },
)
