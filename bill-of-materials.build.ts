import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { bundledPackages, type BundledPackage, type Work } from './third-party-notices.build.ts'

const root = import.meta.dirname

interface OwnManifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
  readonly devDependencies: Readonly<Record<string, string>>
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly integrity?: string }>>
}

interface Component {
  readonly type: 'application' | 'library' | 'platform'
  readonly 'bom-ref': string
  readonly group?: string
  readonly name: string
  readonly version?: string
  readonly description?: string
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[]
  readonly licenses?: readonly object[]
  readonly purl?: string
  readonly components?: readonly Component[]
}

interface Place {
  /** The project, whose package-lock.json has the digests. */
  readonly root?: string
  /** For an executable: `process.versions` of the Node that is in it. */
  readonly node?: NodeJS.ProcessVersions
  /** Seconds since 1970; left out where nobody knows. */
  readonly time?: number | undefined
}

/**
 * What a bundle consists of, as a software bill of materials: CycloneDX 1.6 in JSON. The same files and the same commit
 * give the same text.
 * @param files absolute paths of modules and WebAssembly files; those outside node_modules are passed over
 */
export function billOfMaterials(
  files: readonly string[],
  { root: project = root, node, time = sourceTime() }: Place = {},
): string {
  const own = readJson<OwnManifest>(join(root, 'package.json'))
  const lock = readJson<Lock>(join(project, 'package-lock.json'))
  // Two copies of one version are one component.
  const packages = new Map(
    bundledPackages(files).map((one) => [purlOf(one.manifest.name, one.manifest.version), one] as const),
  )
  const refs = [...packages.keys()].sort()
  const components = refs.map((ref) => packageComponent(ref, packages.get(ref)!, { project, lock }))
  const runtime = node === undefined ? [] : [nodeComponent(node)]
  const subject = node === undefined ? purlOf(own.name, own.version) : executablePurl(own)
  const bill = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      ...(time !== undefined && { timestamp: new Date(time * 1000).toISOString() }),
      lifecycles: [{ phase: 'build' }],
      tools: {
        components: [
          { type: 'application', name: 'bill-of-materials.build.ts', version: own.version },
          // It says which modules are in the bundle.
          { type: 'application', name: 'rolldown', version: own.devDependencies['rolldown'] },
        ],
      },
      component: {
        type: 'application',
        'bom-ref': subject,
        name: own.name,
        version: own.version,
        description: own.description,
        licenses: licenses(own.license),
        purl: subject,
      },
    },
    components: [...runtime, ...components],
    dependencies: [
      {
        ref: subject,
        dependsOn: [
          ...runtime.map((component) => component['bom-ref']),
          ...neededBy(Object.keys(own.devDependencies), project, packages),
        ],
      },
      ...runtime.map((component) => ({ ref: component['bom-ref'], dependsOn: [] })),
      ...refs.map((ref) => {
        const { manifest, root } = packages.get(ref)!
        return { ref, dependsOn: neededBy(Object.keys(manifest.dependencies ?? {}), root, packages) }
      }),
    ],
  }
  const { $schema, bomFormat, specVersion, ...rest } = bill
  const serialNumber = `urn:uuid:${uuidOf(JSON.stringify(bill))}`
  return `${JSON.stringify({ $schema, bomFormat, specVersion, serialNumber, ...rest }, undefined, 2)}\n`
}

/** When what is built was written: what `SOURCE_DATE_EPOCH` says, or the time of the commit. */
function sourceTime(): number | undefined {
  const given = process.env['SOURCE_DATE_EPOCH']
  if (given) return Number(given)
  const { stdout, status } = spawnSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' })
  return status === 0 ? Number(stdout) : undefined
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T
}

function purlOf(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${encodeURIComponent(version)}`
}

function executablePurl({ version }: OwnManifest): string {
  return `pkg:github/modelgate/modelgate@v${encodeURIComponent(version)}`
}

function licenses(expression: string): object[] {
  return /^[\w.-]+$/.test(expression) ? [{ license: { id: expression } }] : [{ expression }]
}

/** The digest is that of the registry's archive, which npm compares before it installs a package. */
function packageComponent(
  ref: string,
  { root, manifest, parts }: BundledPackage,
  { project, lock }: { readonly project: string; readonly lock: Lock },
): Component {
  const { name, version, license } = manifest
  const { integrity } = lock.packages[relative(project, root).replaceAll('\\', '/')] ?? {}
  const [, group, base = name] = /^(@[^/]+)\/(.+)$/.exec(name) ?? []
  return {
    type: 'library',
    'bom-ref': ref,
    ...(group !== undefined && { group }),
    name: base,
    version,
    ...(integrity !== undefined && { hashes: [hashOf(integrity)] }),
    ...(license !== undefined && { licenses: licenses(license) }),
    purl: ref,
    ...(parts.length > 0 && { components: parts.map((part) => partComponent(ref, part)) }),
  }
}

function hashOf(integrity: string): { alg: string; content: string } {
  const [, bits, digest] = /^sha(512|384|256|1)-(\S+)$/.exec(integrity) ?? []
  if (digest === undefined) throw new Error(`What digest is ${integrity}?`)
  return { alg: `SHA-${bits}`, content: Buffer.from(digest, 'base64').toString('hex') }
}

/** A work inside a package, such as `png 0.17.10 (Rust)`. */
function partComponent(ref: string, { title, license }: Work): Component {
  const [, name = title, version, isCrate] = /^(.*?)(?: (\d\S*|[0-9a-f]{40}))?( \(Rust\))?$/.exec(title) ?? []
  return {
    type: 'library',
    'bom-ref': `${ref}#${encodeURIComponent(name)}`,
    name,
    ...(version !== undefined && { version }),
    licenses: licenses(license),
    ...(isCrate !== undefined && { purl: `pkg:cargo/${name}@${version}` }),
  }
}

/** Node, and the libraries that are compiled into it, as it names them itself. */
function nodeComponent(versions: NodeJS.ProcessVersions): Component {
  // Numbers of interfaces and tables of data, not of code.
  const others = new Set(['node', 'modules', 'napi', 'cldr', 'tz', 'unicode'])
  const ref = `pkg:generic/node@${versions.node}`
  // One that this Node was built without has an empty version.
  const libraries = Object.entries(versions).filter(([name, version]) => !others.has(name) && version)
  return {
    type: 'platform',
    'bom-ref': ref,
    name: 'node',
    version: versions.node,
    licenses: licenses('MIT'),
    purl: ref,
    components: libraries
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, version]) => ({
        type: 'library',
        'bom-ref': `${ref}#${name}`,
        name,
        version: version!,
      })),
  }
}

/** The bundled ones of the packages that a folder names, as Node finds them from there. */
function neededBy(
  names: readonly string[],
  folder: string,
  packages: ReadonlyMap<string, BundledPackage>,
): string[] {
  const refs = new Map([...packages].map(([ref, { root }]) => [resolve(root), ref]))
  const found = names.flatMap((name) => {
    for (let place = resolve(folder); ; place = dirname(place)) {
      const ref = refs.get(join(place, 'node_modules', name))
      if (ref !== undefined) return [ref]
      if (place === dirname(place)) return []
    }
  })
  return found.sort()
}

/** As RFC 9562 has it for what is not random (version 8). */
function uuidOf(text: string): string {
  const digest = createHash('sha256').update(text).digest('hex')
  const parts = [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `a${digest.slice(17, 20)}`,
    digest.slice(20, 32),
  ]
  return parts.join('-')
}
