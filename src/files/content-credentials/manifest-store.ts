import { decodeCbor } from './cbor.ts'

/**
 * What a store of content credentials says of itself. Anybody can write such a store: nothing of it holds before its
 * signature and its hashes have been verified, which is not done here.
 */
export interface ManifestFacts {
  /** Label of the active manifest, the last of the store: `urn:c2pa:…`. */
  readonly label: string | null
  /** The program that claims to have made the file, with its version. */
  readonly generator: string | null
  readonly title: string | null
  /** The digital source types that its actions name, without their vocabulary: `trainedAlgorithmicMedia`. */
  readonly sourceTypes: readonly string[]
}

/**
 * Reads the boxes of a C2PA manifest store (JUMBF, ISO/IEC 19566-5) as far as they can be read; never throws.
 * @returns undefined when it is no such store
 */
export function readManifestStore(bytes: Buffer): ManifestFacts | undefined {
  const [first] = boxesOf(bytes)
  const store = first?.type === 'jumb' ? superboxOf(first.content) : undefined
  if (store?.label !== 'c2pa' || store.kind !== 'c2pa') return undefined
  const manifest = superboxesOf(store).findLast(({ kind }) => manifestKinds.has(kind))
  if (manifest === undefined) return { label: null, generator: null, title: null, sourceTypes: [] }
  const parts = superboxesOf(manifest)
  const claim = contentOf(parts.find(({ label }) => /^c2pa\.claim(?:\.v\d+)?$/.test(label)))
  const assertions = parts.find(({ label }) => label === 'c2pa.assertions')
  return {
    label: short(manifest.label),
    generator: generatorOf(claim),
    title: short(claim['dc:title']),
    sourceTypes: assertions === undefined ? [] : sourceTypesOf(superboxesOf(assertions)),
  }
}

/** Standard and update manifests; a compressed one (`c2cm`) has a label, and nothing else that can be read. */
const manifestKinds: ReadonlySet<string> = new Set(['c2ma', 'c2um', 'c2cm'])

interface Box {
  readonly type: string
  readonly content: Buffer
}

interface Superbox {
  /** The first four letters of the UUID of its type. */
  readonly kind: string
  readonly label: string
  readonly boxes: readonly Box[]
}

/** More than a real store has on one level. */
const maxBoxes = 1000

/** The boxes of one level. What is damaged ends them; the last may be cut. */
function boxesOf(bytes: Buffer): Box[] {
  const boxes: Box[] = []
  for (let at = 0; at + 8 <= bytes.length && boxes.length < maxBoxes;) {
    let length = bytes.readUInt32BE(at)
    let header = 8
    if (length === 1 && at + 16 <= bytes.length) {
      length = Number(bytes.readBigUInt64BE(at + 8))
      header = 16
    }
    if (length === 0) length = bytes.length - at
    if (length < header) return boxes
    boxes.push({
      type: bytes.toString('latin1', at + 4, at + 8),
      content: bytes.subarray(at + header, Math.min(at + length, bytes.length)),
    })
    at += length
  }
  return boxes
}

/** A description box (UUID, toggles, label with an end), then the content. */
function superboxOf(content: Buffer): Superbox | undefined {
  const [description, ...boxes] = boxesOf(content)
  if (description?.type !== 'jumd' || description.content.length < 17) return undefined
  const { content: facts } = description
  const end = facts.indexOf(0, 17)
  const hasLabel = (facts[16]! & 2) !== 0 && end !== -1
  return {
    kind: facts.toString('latin1', 0, 4),
    label: hasLabel ? facts.toString('utf8', 17, end) : '',
    boxes,
  }
}

function superboxesOf({ boxes }: Superbox): Superbox[] {
  return boxes.flatMap(({ type, content }) => (type === 'jumb' ? (superboxOf(content) ?? []) : []))
}

/** The map that a box of claims or an assertion holds. */
function contentOf(box: Superbox | undefined): Readonly<Record<string, unknown>> {
  const content = box?.boxes.find(({ type }) => type === 'cbor')?.content
  return mapOf(content === undefined ? undefined : decodeCbor(content))
}

function generatorOf(claim: Readonly<Record<string, unknown>>): string | null {
  const info = claim['claim_generator_info']
  const { name, version } = mapOf(Array.isArray(info) ? info[0] : info)
  if (typeof name !== 'string') return short(claim['claim_generator'])
  return short(typeof version === 'string' ? `${name} ${version}` : name)
}

function sourceTypesOf(assertions: readonly Superbox[]): string[] {
  const actions = assertions
    .filter(({ label }) => /^c2pa\.actions(?:\.v\d+)?(?:__\d+)?$/.test(label))
    .flatMap((assertion) => {
      const { actions: list } = contentOf(assertion)
      return Array.isArray(list) ? (list as unknown[]) : []
    })
  const types = actions.flatMap((action) => {
    const { digitalSourceType: type } = mapOf(action)
    return typeof type === 'string' ? (short(type.slice(type.lastIndexOf('/') + 1)) ?? []) : []
  })
  return [...new Set(types)].slice(0, maxTypes)
}

const maxTypes = 16
const maxText = 300

function short(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value.slice(0, maxText).toWellFormed() : null
}

function mapOf(value: unknown): Readonly<Record<string, unknown>> {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isMap && !Buffer.isBuffer(value) ? (value as Record<string, unknown>) : {}
}
