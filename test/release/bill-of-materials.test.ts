import { Enums, Models } from '@cyclonedx/cyclonedx-library'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Ajv } from 'ajv'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { billOfMaterials } from '../../build/third-party.ts'
import { readPage } from '../support/pages.ts'
import type { Json } from '../support/running-sandbox.ts'

const parse = (text: string) => JSON.parse(text) as Json
const packageBill = () => parse(readPage('modelgate.cdx.json'))

/** The schema of CycloneDX 1.6 as the project publishes it. */
const require = createRequire(import.meta.url)
const schemas = dirname(require.resolve('@cyclonedx/cyclonedx-library/package.json'))
const schemaOf = (name: string) =>
  parse(readFileSync(join(schemas, `res/schema/${name}.SNAPSHOT.schema.json`), 'utf8')) as object

const ajv = new Ajv({ strict: false, validateFormats: false })
for (const name of ['spdx', 'jsf-0.82', 'cryptography-defs'])
  ajv.addSchema(schemaOf(name), `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`)
const validate = ajv.compile(schemaOf('bom-1.6'))
const schemaProblems = (bill: unknown) => (validate(bill) ? [] : validate.errors)

/** What the plugin has found: a program, and two packages in it. */
function collected() {
  const [program, undici, other] = ['program', 'undici', 'other'].map((name) => {
    const bomRef = `pkg:npm/${name}@1.0.0`
    return new Models.Component(Enums.ComponentType.Library, name, { version: '1.0.0', purl: bomRef, bomRef })
  })
  undici!.dependencies.add(other!.bomRef)
  const used = new Models.ToolRepository([new Models.Tool({ name: 'rolldown' })])
  const tools = new Models.Tools({ tools: used })
  const metadata = new Models.Metadata({ component: program!, tools })
  return new Models.Bom({ metadata, components: new Models.ComponentRepository([undici!, other!]) })
}

test('a bill of materials is dated by SOURCE_DATE_EPOCH', () => {
  vi.stubEnv('SOURCE_DATE_EPOCH', '86400')
  onTestFinished(() => void vi.unstubAllEnvs())
  const { metadata } = parse(billOfMaterials(collected(), new Set()))
  expect(metadata.timestamp).toBe('1970-01-02T00:00:00.000Z')
})

test('a bill of materials of an executable names Node, and what Node consists of', () => {
  const bill = parse(billOfMaterials(collected(), new Set(), process.versions))
  expect(schemaProblems(bill)).toEqual([])
  const { node: version, openssl } = process.versions
  const [node] = bill.components
  expect(node).toMatchObject({ type: 'platform', name: 'node', version, purl: `pkg:generic/node@${version}` })
  expect(node.components).toContainEqual(expect.objectContaining({ name: 'openssl', version: openssl }))
  expect(bill.metadata.component.purl).toMatch(/^pkg:github\/modelgate\/modelgate@v/)
})

describe('the bill of materials of the package', () => {
  test('is valid, and names what THIRD-PARTY-NOTICES names, and nothing else', () => {
    expect(schemaProblems(packageBill())).toEqual([])
    const noticed = [
      ...readPage('THIRD-PARTY-NOTICES')
        .split(/^={70,}$/m)[0]!
        .matchAll(/^- (.+?)(?: \(Rust\))? \(.*\)$/gm),
    ]
    const { components }: { components: Json[] } = packageBill()
    const named = components.flatMap((one): Json[] => [one, ...(one.components ?? [])])
    const titles = named.map(({ 'bom-ref': ref, name, version = '' }) => {
      const [, group = ''] = /^pkg:npm\/%40([^/]+\/)[^#]*$/.exec(ref) ?? []
      return `${group && `@${group}`}${name} ${version}`.trim()
    })
    expect([...new Set(titles)].sort()).toEqual(noticed.map(([, title]) => title!).sort())
  })

  test('has a licence of every package, a digest of every archive, and nothing that only tests need', () => {
    const components: Json[] = packageBill().components
    expect(components.length).toBeGreaterThan(60)
    expect(components.find(({ name }) => name === 'core')).toMatchObject({
      group: '@inquirer',
      hashes: [{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) as string }],
      licenses: [{ license: { id: 'MIT' } }],
      purl: expect.stringMatching(/^pkg:npm\/%40inquirer\/core@\d+\.\d+\.\d+$/) as string,
    })
    expect(components.filter(({ licenses, hashes }) => !licenses || !hashes)).toEqual([])
    const names = components.map(({ name }) => name)
    expect(names).toContain('undici')
    for (const name of ['vitest', 'typescript', 'rolldown', 'msgpackr-extract'])
      expect(names).not.toContain(name)
  })
})
