import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Ajv } from 'ajv'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { billOfMaterials } from '../../bill-of-materials.build.ts'
import { projectRoot } from '../support/pages.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

interface Component {
  readonly 'bom-ref': string
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

const digestOf = (path: string) => Buffer.alloc(64, path)

/** A project with these packages installed. @returns its folder, and the modules of its bundle */
function project(packages: Readonly<Record<string, object>>) {
  const root = temporaryFolder()
  const lock: Record<string, object> = {}
  const files = Object.entries(packages).map(([path, manifest]) => {
    const folder = join(root, 'node_modules', path)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ license: 'MIT', ...manifest }))
    lock[`node_modules/${path}`] = { integrity: `sha512-${digestOf(path).toString('base64')}` }
    return join(folder, 'index.js')
  })
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages: lock }))
  return { root, files }
}

const two = {
  '@scope/one': { name: '@scope/one', version: '1.2.3', dependencies: { undici: '*', absent: '*' } },
  undici: { name: 'undici', version: '0.16.0', license: '(MIT OR Apache-2.0)' },
}

afterEach(() => vi.unstubAllEnvs())

describe('a bill of materials', () => {
  test('names a package as registries and scanners do, with the digest of the lock', () => {
    const { root, files } = project(two)
    const bill = parse(billOfMaterials(files, { root, time: 1_700_000_000 }))
    expect(schemaProblems(bill)).toEqual([])
    expect(bill.metadata).toMatchObject({ timestamp: '2023-11-14T22:13:20.000Z' })
    expect(bill.components).toEqual([
      {
        type: 'library',
        'bom-ref': 'pkg:npm/%40scope/one@1.2.3',
        group: '@scope',
        name: 'one',
        version: '1.2.3',
        hashes: [{ alg: 'SHA-512', content: digestOf('@scope/one').toString('hex') }],
        licenses: [{ license: { id: 'MIT' } }],
        purl: 'pkg:npm/%40scope/one@1.2.3',
      },
      expect.objectContaining({
        purl: 'pkg:npm/undici@0.16.0',
        licenses: [{ expression: '(MIT OR Apache-2.0)' }],
        components: [expect.objectContaining({ name: 'llhttp', licenses: [{ license: { id: 'MIT' } }] })],
      }),
    ])
    expect(bill.dependencies).toContainEqual({
      ref: 'pkg:npm/%40scope/one@1.2.3',
      dependsOn: ['pkg:npm/undici@0.16.0'],
    })
  })

  test('names one version once, however often it is installed, and each version that is', () => {
    const { root, files } = project({
      a: { name: 'a', version: '1.0.0', dependencies: { c: '*' } },
      b: { name: 'b', version: '1.0.0', dependencies: { c: '*' } },
      c: { name: 'c', version: '1.0.0' },
      'a/node_modules/c': { name: 'c', version: '2.0.0' },
      'b/node_modules/c': { name: 'c', version: '1.0.0' },
    })
    const { components, dependencies } = parse(billOfMaterials(files, { root }))
    const refs = ['pkg:npm/a@1.0.0', 'pkg:npm/b@1.0.0', 'pkg:npm/c@1.0.0', 'pkg:npm/c@2.0.0']
    expect(components.map(({ purl }) => purl)).toEqual(refs)
    expect(dependencies).toContainEqual({ ref: 'pkg:npm/a@1.0.0', dependsOn: ['pkg:npm/c@2.0.0'] })
    expect(dependencies).toContainEqual({ ref: 'pkg:npm/b@1.0.0', dependsOn: ['pkg:npm/c@1.0.0'] })
  })

  test('is the same text for the same files, in any order, and has another number for others', () => {
    const { root, files } = project(two)
    const text = billOfMaterials(files, { root, time: 1 })
    expect(billOfMaterials(files.toReversed(), { root, time: 1 })).toBe(text)
    const other = billOfMaterials(files.slice(1), { root, time: 1 })
    expect(parse(other).serialNumber).not.toBe(parse(text).serialNumber)
  })

  test('is dated by SOURCE_DATE_EPOCH', () => {
    vi.stubEnv('SOURCE_DATE_EPOCH', '86400')
    expect(parse(billOfMaterials([])).metadata.timestamp).toBe('1970-01-02T00:00:00.000Z')
  })

  test('of an executable names Node, and what Node consists of', () => {
    const { root, files } = project(two)
    const bill = parse(billOfMaterials(files, { root, node: process.versions }))
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

  test('that breaks the schema is found out', () => {
    const bill = parse(packageBill())
    const [first, ...others] = bill.components
    expect(schemaProblems({ ...bill, components: [{ ...first, type: 'package' }, ...others] })).not.toEqual(
      [],
    )
    expect(schemaProblems({ ...bill, serialNumber: '1' })).not.toEqual([])
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
    expect(components.filter(({ licenses, hashes }) => !licenses || !hashes)).toEqual([])
    const names = components.map(({ name }) => name)
    expect(names).toContain('undici')
    for (const name of ['vitest', 'typescript', 'rolldown', 'msgpackr-extract'])
      expect(names).not.toContain(name)
  })

  test('says of every package what brings it', () => {
    const { metadata, components, dependencies } = parse(packageBill())
    const reached = new Set([metadata.component['bom-ref']])
    // A set takes in, and goes on to, what is added while it is gone through.
    for (const ref of reached)
      dependencies.find((one) => one.ref === ref)!.dependsOn.forEach((next) => reached.add(next))
    expect(components.filter((one) => !reached.has(one['bom-ref']))).toEqual([])
  })
})
