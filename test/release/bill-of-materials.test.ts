import { Enums, Models } from '@cyclonedx/cyclonedx-library'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Ajv } from 'ajv'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { billOfMaterials } from '../../build/third-party.ts'
import { projectRoot } from '../support/pages.ts'

interface Component {
  readonly 'bom-ref': string
  readonly group?: string
  readonly name: string
  readonly version?: string
  readonly hashes?: readonly object[]
  readonly licenses?: readonly object[]
  readonly purl?: string
  readonly components?: readonly Component[]
}

interface Bill {
  readonly serialNumber: string
  readonly metadata: { readonly timestamp?: string; readonly component: Component }
  readonly components: readonly Component[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

const parse = (text: string) => JSON.parse(text) as Bill
const packageBill = () => readFileSync(new URL('modelgate.cdx.json', projectRoot), 'utf8')

/** The schema of CycloneDX 1.6 as the project publishes it. */
const require = createRequire(import.meta.url)
const schemas = dirname(require.resolve('@cyclonedx/cyclonedx-library/package.json'))
const schemaOf = (name: string) =>
  JSON.parse(readFileSync(join(schemas, `res/schema/${name}.SNAPSHOT.schema.json`), 'utf8')) as object

const validate = validator()

function validator() {
  const ajv = new Ajv({ strict: false, validateFormats: false })
  for (const name of ['spdx', 'jsf-0.82', 'cryptography-defs'])
    ajv.addSchema(schemaOf(name), `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`)
  return ajv.compile(schemaOf('bom-1.6'))
}

function schemaProblems(bill: unknown): unknown {
  return validate(bill) ? [] : validate.errors
}

/** What the plugin has found: a program, and two packages in it. */
function collected() {
  const component = (name: string, version: string) => {
    const purl = `pkg:npm/${name}@${version}`
    return new Models.Component(Enums.ComponentType.Library, name, { version, purl, bomRef: purl })
  }
  const [program, undici, other] = [
    component('program', '1.0.0'),
    component('undici', '8.12.4'),
    component('other', '1.0.0'),
  ]
  undici!.dependencies.add(other!.bomRef)
  const metadata = new Models.Metadata({
    component: program!,
    tools: new Models.Tools({ tools: new Models.ToolRepository([new Models.Tool({ name: 'rolldown' })]) }),
  })
  return new Models.Bom({ metadata, components: new Models.ComponentRepository([undici!, other!]) })
}

describe('a bill of materials', () => {
  test('is dated by SOURCE_DATE_EPOCH', () => {
    vi.stubEnv('SOURCE_DATE_EPOCH', '86400')
    onTestFinished(() => void vi.unstubAllEnvs())
    const { metadata } = parse(billOfMaterials(collected(), new Set()))
    expect(metadata.timestamp).toBe('1970-01-02T00:00:00.000Z')
  })

  test('of an executable names Node, and what Node consists of', () => {
    const bill = parse(billOfMaterials(collected(), new Set(), process.versions))
    expect(schemaProblems(bill)).toEqual([])
    const [node] = bill.components
    expect(node).toMatchObject({
      type: 'platform',
      name: 'node',
      version: process.versions.node,
      purl: `pkg:generic/node@${process.versions.node}`,
    })
    expect(node!.components).toContainEqual(
      expect.objectContaining({ name: 'openssl', version: process.versions.openssl }),
    )
    expect(bill.metadata.component.purl).toMatch(/^pkg:github\/modelgate\/modelgate@v/)
  })
})

describe('the bill of materials of the package', () => {
  test('is valid', () => {
    expect(schemaProblems(parse(packageBill()))).toEqual([])
  })

  test('names what THIRD-PARTY-NOTICES names, and nothing else', () => {
    const notices = readFileSync(new URL('THIRD-PARTY-NOTICES', projectRoot), 'utf8')
    const noticed = [...notices.split(/^={70,}$/m)[0]!.matchAll(/^- (.+?)(?: \(Rust\))? \(.*\)$/gm)]
    const named = parse(packageBill()).components.flatMap((one) => [one, ...(one.components ?? [])])
    const titles = named.map(({ 'bom-ref': ref, name, version = '' }) => {
      const [, group = ''] = /^pkg:npm\/%40([^/]+\/)[^#]*$/.exec(ref) ?? []
      return `${group && `@${group}`}${name} ${version}`.trim()
    })
    expect([...new Set(titles)].sort()).toEqual(noticed.map(([, title]) => title!).sort())
  })

  test('has a licence of every package, a digest of every archive, and nothing that only tests need', () => {
    const { components } = parse(packageBill())
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
