/**
 * THIRD-PARTY-NOTICES and modelgate.cdx.json, the bill of materials, of what is in a bundle. The licences are read here: of
 * the plugins for them none reads those below the root of a package, which code in the bundle is under.
 */
import { Serialize, Spec, type Models } from '@cyclonedx/cyclonedx-library'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { OutputAsset, OutputChunk, Plugin } from 'rolldown'
import sbom from 'rollup-plugin-sbom'
import { mitText, worksIn, type Work } from './third-party-works.ts'

const root = join(import.meta.dirname, '..')

/** Licences that let the bundle be passed on under its own, as long as they are stated. */
const allowed = new Set('0BSD Apache-2.0 BlueOak-1.0.0 BSD-2-Clause BSD-3-Clause IJG ISC MIT'.split(' '))

/** What is written about a bundle: the text of a file, by its name. */
export type WriteFile = (name: string, text: string) => void

/**
 * Plugins that write THIRD-PARTY-NOTICES and modelgate.cdx.json.
 * @param node for an executable: `process.versions` of the Node that is in it
 */
export function thirdPartyPlugins(write: WriteFile, node?: NodeJS.ProcessVersions): Plugin[] {
  let packages: readonly BundledPackage[] = []
  return [
    {
      name: 'third-party-notices',
      generateBundle(_, bundle) {
        packages = bundledPackages(Object.values(bundle).flatMap(filesOf))
        write('THIRD-PARTY-NOTICES', thirdPartyNotices(packages))
      },
    },
    sbom({
      specVersion: '1.6',
      outFormats: [],
      includeWellKnown: false,
      saveTimestamp: false,
      afterCollect: (bom) =>
        write('modelgate.cdx.json', billOfMaterials(bom, new Set(packages.map(titleOf)), node)),
    }) as unknown as Plugin,
  ]
}

/** A package of which a bundle contains something. */
interface BundledPackage {
  readonly root: string
  /** Those of its files that are in the bundle. */
  readonly files: readonly string[]
  readonly manifest: Manifest
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license?: string
  readonly author?: string | { readonly name: string; readonly email?: string }
}

const titleOf = ({ manifest: { name, version } }: BundledPackage) => `${name} ${version}`

/** Absolute paths of what is in a file of a bundle. */
function filesOf(file: OutputChunk | OutputAsset): string[] {
  return file.type === 'chunk' ? Object.keys(file.modules) : file.originalFileNames
}

/** The packages that files belong to. @param files absolute paths; those outside node_modules are passed over */
export function bundledPackages(files: readonly string[]): BundledPackage[] {
  const rootOf = (file: string) => /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(file)?.[0]
  return [...Map.groupBy(files, rootOf)].flatMap(([root, files]) => {
    if (root === undefined) return []
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
    return [{ root, files, manifest }]
  })
}

/**
 * The licences of packages and of the works in them, as one text: a list of all, then each text once. It is the same for
 * the same packages, in any order.
 * @throws {Error} for a package whose licence is not allowed or has no text, or with compiled code of unknown works
 */
export function thirdPartyNotices(packages: readonly BundledPackage[]): string {
  const byTitle = new Map(packages.flatMap(worksOf).map((work) => [work.title, work]))
  const works = [...byTitle.values()].sort((one, other) => (one.title < other.title ? -1 : 1))
  const list = works.map(({ title, license }) => `- ${title} (${license})`)
  const sections = [...Map.groupBy(works, ({ text }) => text)].map(([text, works]) => {
    const heads = works.flatMap(({ title, notices }) => [title, ...notices.map((notice) => `  ${notice}`)])
    return `${'='.repeat(78)}\n${heads.join('\n')}\n\n${text}\n`
  })
  const intro = 'The bundle contains, as a whole or in part, the following works, under their licences.'
  return `${intro}\n\n${list.join('\n')}\n\n${sections.join('\n')}`
}

function worksOf(bundled: BundledPackage): readonly Work[] {
  const { name, version, license = 'no licence', author = `the authors of ${name}` } = bundled.manifest
  const title = titleOf(bundled)
  if (!isAllowed(license))
    throw new Error(`${title} is under ${license}, which is not on the list of allowed licences.`)
  const parts = worksIn(name, version)
  if (parts.length === 0 && bundled.files.some((file) => file.endsWith('.wasm')))
    throw new Error(`What is compiled into ${title}? Add it to compiledWorks.`)
  const texts = licenceTexts(bundled)
  if (texts.length > 0) return [{ title, license, notices: [], text: texts.join('\n\n') }, ...parts]
  if (license !== 'MIT')
    throw new Error(`${title} has no licence file, and ${license} no standard text here.`)
  const holder =
    typeof author === 'string' ? author : `${author.name} ${author.email ? `<${author.email}>` : ''}`
  return [{ title, license, notices: [`Copyright (c) ${holder.trim()}`], text: mitText }, ...parts]
}

/** Of alternatives one is enough, of several at once all are needed. Anything unusual is refused. */
function isAllowed(expression: string): boolean {
  const alternatives = expression.replaceAll(/^\(|\)$/g, '').split(' OR ')
  return alternatives.some((alternative) => alternative.split(' AND ').every((id) => allowed.has(id)))
}

/** The licence files of a package's root, and of each folder below it that holds one of its files. */
function licenceTexts({ root, files }: BundledPackage): readonly string[] {
  const folders = new Set([root])
  for (const file of files)
    for (let folder = dirname(file); folder.length > root.length; folder = dirname(folder))
      folders.add(folder)
  const texts = [...folders].sort().flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => /^(licen[cs]e|copying|copyright|notice|patents)\b(?!.*\.[cm]?[jt]s$)/i.test(name))
      .sort()
      .map((name) => readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n').trim()),
  )
  return [...new Set(texts)]
}

/** As much of CycloneDX as is read here. */
interface Component {
  readonly 'bom-ref': string
  readonly group?: string
  readonly name: string
  readonly version?: string
}

interface Bill {
  readonly metadata: { readonly component: Component; readonly tools: readonly { readonly name: string }[] }
  readonly components: readonly Component[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[]
}

/**
 * The bill of materials in JSON, as the plugin has collected it, with the digests of package-lock.json and the works that
 * are compiled into packages. The same bundle of the same commit gives the same text.
 * @param bundled the packages that are in the bundle, as `name version`: the plugin lists those, too, of which nothing is
 * @param node `process.versions` of a Node that is part of it
 * @param time seconds since 1970; left out where nobody knows
 */
export function billOfMaterials(
  bom: Models.Bom,
  bundled: ReadonlySet<string>,
  node?: NodeJS.ProcessVersions,
  time = sourceTime(),
): string {
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6))
  // Scanners compare addresses of packages: without the repository that the plugin adds.
  const text = serializer.serialize(bom, { sortLists: true }).replaceAll(/\?vcs_url=[^"]*/g, '')
  const collected = JSON.parse(text) as Bill
  const { devDependencies } = readJson<{ devDependencies: Readonly<Record<string, string>> }>('package.json')
  const hashes = lockedHashes()
  const components = collected.components.flatMap((component) => {
    const { group, version, 'bom-ref': ref } = component
    const name = group === undefined ? component.name : `${group}/${component.name}`
    const title = `${name} ${version}`
    const parts = worksIn(name, version!).map((work) => partComponent(ref, work))
    const more = parts.length > 0 ? { components: parts } : {}
    return bundled.has(title) ? [{ ...component, hashes: hashes.get(title), ...more }] : []
  })
  const refs = new Set(components.map((component) => component['bom-ref']))
  const dependencies = collected.dependencies.flatMap(({ ref, dependsOn = [] }) =>
    refs.has(ref) ? [{ ref, dependsOn: dependsOn.filter((need) => need !== ref && refs.has(need)) }] : [],
  )
  const runtime = node === undefined ? [] : [nodeComponent(node)]
  const { component, ...metadata } = collected.metadata
  const purl =
    node === undefined ? component['bom-ref'] : `pkg:github/modelgate/modelgate@v${component.version}`
  const brought = new Set(dependencies.flatMap(({ dependsOn }) => dependsOn))
  const direct = new Set(Object.entries(devDependencies).map(([name, version]) => purlOf(name, version)))
  const own = [...refs].filter((ref) => direct.has(ref) || !brought.has(ref))
  const bill = {
    ...collected,
    metadata: {
      ...(time !== undefined && { timestamp: new Date(time * 1000).toISOString() }),
      ...metadata,
      // The plugin takes every bundler for one of ours that is installed.
      tools: metadata.tools.filter(({ name }) => name !== 'vite' && name !== 'rollup'),
      component: { ...component, 'bom-ref': purl, purl },
    },
    components: [...runtime, ...components],
    dependencies: [
      { ref: purl, dependsOn: [...runtime.map((one) => one['bom-ref']), ...own] },
      ...dependencies,
    ],
  }
  const serialNumber = `urn:uuid:${uuidOf(JSON.stringify(bill))}`
  return `${JSON.stringify({ ...bill, serialNumber }, undefined, 2)}\n`
}

const purlOf = (name: string, version: string) => `pkg:npm/${name.replace('@', '%40')}@${version}`

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(join(root, path), 'utf8')) as T
}

/** When what is built was written: what `SOURCE_DATE_EPOCH` says, or the time of the commit. */
function sourceTime(): number | undefined {
  const given = process.env['SOURCE_DATE_EPOCH']
  if (given) return Number(given)
  const { stdout, status } = spawnSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' })
  return status === 0 ? Number(stdout) : undefined
}

/** The digests of the archives of the registry, which npm compares before it installs a package, by `name version`. */
function lockedHashes() {
  const { packages } = readJson<{
    packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>
  }>('package-lock.json')
  const hashes = Object.entries(packages).flatMap(([path, { version, integrity }]) => {
    const name = path.replace(/^.*node_modules\//, '')
    const [, bits, digest] = /^sha(512|384|256|1)-(\S+)$/.exec(integrity ?? '') ?? []
    if (digest === undefined) return []
    const content = Buffer.from(digest, 'base64').toString('hex')
    return [[`${name} ${version}` as string, [{ alg: `SHA-${bits}`, content }]] as const]
  })
  return new Map(hashes)
}

/** A work inside a package, such as `png 0.17.10 (Rust)`. */
function partComponent(ref: string, { title, license }: Work) {
  const [, name = title, version, isCrate] = /^(.*?)(?: (\d\S*|[0-9a-f]{40}))?( \(Rust\))?$/.exec(title) ?? []
  return {
    type: 'library',
    'bom-ref': `${ref}#${encodeURIComponent(name)}`,
    name,
    ...(version !== undefined && { version }),
    licenses: [license.includes(' ') ? { expression: license } : { license: { id: license } }],
    ...(isCrate !== undefined && { purl: `pkg:cargo/${name}@${version}` }),
  }
}

/** Node, and the libraries that are compiled into it, as it names them itself. */
function nodeComponent(versions: NodeJS.ProcessVersions) {
  // Numbers of interfaces and tables of data, not of code.
  const others = new Set(['node', 'modules', 'napi', 'cldr', 'tz', 'unicode'])
  const ref = `pkg:generic/node@${versions.node}`
  const libraries = Object.entries(versions)
    // One that this Node was built without has an empty version.
    .filter(([name, version]) => !others.has(name) && version)
    .map(([name, version]) => ({ type: 'library', 'bom-ref': `${ref}#${name}`, name, version }))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
  return {
    type: 'platform',
    'bom-ref': ref,
    name: 'node',
    version: versions.node,
    licenses: [{ license: { id: 'MIT' } }],
    purl: ref,
    components: libraries,
  }
}

/** As RFC 9562 has it for what is not random (version 8). */
function uuidOf(text: string): string {
  const digest = createHash('sha256').update(text).digest('hex')
  return digest.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-a$4-$5')
}
