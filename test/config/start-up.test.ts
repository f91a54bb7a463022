import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { configPlace } from '../support/config-place.ts'

/** Resolves settings in a process of its own and lists the packages that were loaded for it. */
function packagesLoaded(place: ReturnType<typeof configPlace>): string[] {
  const settings = new URL('../../src/config/settings.ts', import.meta.url).href
  const { home, project } = place
  const script = `
    import { registerHooks } from 'node:module'
    const loaded = new Set()
    registerHooks({
      load(url, context, next) {
        const found = /node_modules\\/((@[^/]+\\/)?[^/]+)/.exec(url)
        if (found) loaded.add(found[1])
        return next(url, context)
      },
    })
    const { resolveSettings } = await import(${JSON.stringify(settings)})
    await resolveSettings({ env: {}, home: ${JSON.stringify(home)}, cwd: ${JSON.stringify(project)}, platform: 'linux' })
    console.log([...loaded].join(' '))
  `
  const output = execFileSync(process.execPath, ['--no-warnings', '--input-type=module', '--eval', script], {
    encoding: 'utf8',
  })
  return output.trim().split(' ')
}

test('without a configuration file no package that reads files is loaded', () => {
  const files = { 'project/package.json': '{"name": "x", "devDependencies": {"modelgate": "^1.0.0"}}' }
  expect(packagesLoaded(configPlace({ files }))).toEqual(['valibot'])
})

test('the YAML parser is loaded only for YAML', () => {
  const yaml = configPlace({ files: { 'project/.modelgaterc.yaml': 'timeout: 5' } })
  expect(packagesLoaded(yaml)).toEqual(['valibot', 'cosmiconfig', 'env-paths', 'js-yaml'])
  const json = configPlace({ files: { 'project/.modelgaterc.json': '{"timeout": 5}' } })
  expect(packagesLoaded(json)).toEqual(['valibot', 'cosmiconfig', 'env-paths'])
})
