import { hash } from 'node:crypto'
import type { FieldValue, Instance, Reference, Source } from '../manifest/manifest.ts'
import { canonicalJson, canonicalText, requireUnicode } from '../lock/canonical-form.ts'
import type { Lock } from '../lock/lock-block.ts'

/** The version of the rule below. Another number makes every result stale. */
const rule = 1

/** As many hexadecimal digits distinguish the values of one field. */
const shortDigits = 12

export interface KeyInputs {
  /** The digest of an input file, as `digestOfInput` makes it, by its path in the manifest. */
  fileDigest(path: string): Promise<string>
  /** What another instance has made, as it is locked; undefined while that is not known. */
  upstream(reference: Reference): readonly { readonly sha256: string }[] | undefined
}

export interface InstanceKeys {
  readonly keys: readonly string[]
  /** A short digest of each field, for the lock: of the other parts of the key as `$command`, `$distinct` and `$gateway`. */
  readonly fields: Readonly<Record<string, string>>
}

/**
 * The keys of an instance: the SHA-256 of the canonical JSON of what determines its results, and of nothing else. Texts
 * and files enter by their digests, so that it does not matter where they are.
 * @returns undefined while the result of another instance, which it refers to, is not known
 * @throws UsageError `wrong_type`, and what `fileDigest` throws
 */
export async function keysOf(
  instance: Instance,
  gateway: string | null,
  inputs: KeyInputs,
): Promise<InstanceKeys | undefined> {
  const fields: Record<string, unknown> = {}
  for (const name of Object.keys(instance.fields).sort()) {
    const part = await partOf(instance.fields[name]!, inputs)
    if (part === undefined) return undefined
    fields[name] = part
  }
  const others: Record<string, string> = { command: instance.command }
  if (instance.isDistinct) others['distinct'] = instance.id
  if (gateway !== null) others['gateway'] = gateway
  const digestOf = (value: unknown) => hash('sha256', canonicalJson(value))
  const parts = [
    ...Object.entries(others).map(([name, value]) => [`$${name}`, value] as const),
    ...Object.entries(fields),
  ]
  return {
    keys: Array.from({ length: instance.variants }, (_, at) =>
      digestOf({ ...others, fields, rule, variant: at + 1 }),
    ),
    fields: Object.fromEntries(parts.map(([name, value]) => [name, digestOf(value).slice(0, shortDigits)])),
  }
}

/** The keys by manifest and lock alone; undefined where the lock does not hold what the instance refers to. */
export async function keysByLock(
  instance: Instance,
  gateway: string | null,
  lock: Lock,
  fileDigest: KeyInputs['fileDigest'],
): Promise<readonly string[] | undefined> {
  const upstream: KeyInputs['upstream'] = ({ instance: id, candidate }) =>
    candidate === null ? lock.get(id)?.outputs : undefined
  return (await keysOf(instance, gateway, { fileDigest, upstream }))?.keys
}

async function partOf(field: FieldValue, inputs: KeyInputs): Promise<unknown> {
  if (field.kind === 'value') return field.value
  if (field.kind === 'text' && field.text !== null) {
    requireUnicode(field.text)
    return { text: hash('sha256', canonicalText(field.text)) }
  }
  if (field.kind === 'text') {
    const [text] = (await digestsOf(field.source!, inputs)) ?? []
    return text && { text }
  }
  const files: object[] = []
  for (const { source, role } of field.files) {
    const digests = await digestsOf(source, inputs)
    if (digests === undefined) return undefined
    for (const sha256 of digests) files.push(role === null ? { sha256 } : { role, sha256 })
  }
  return files
}

/** An empty list is a result that is not there yet: one always has files. */
async function digestsOf(source: Source, inputs: KeyInputs): Promise<readonly string[] | undefined> {
  if ('path' in source) return [await inputs.fileDigest(source.path)]
  const outputs = inputs.upstream(source.reference)
  return outputs?.length ? outputs.map(({ sha256 }) => sha256) : undefined
}
