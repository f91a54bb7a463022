import { keysOf, type InstanceKeys } from './instance-key.ts'
import type { Instance } from '../manifest/manifest.ts'
import type { Assessment } from './assessment.ts'
import { findBlock, type FoundBlock } from './find-block.ts'
import type { Upstream, UpstreamOf, World } from './world.ts'

/** An instance that is assessed, with what is known of it whatever its state turns out to be. */
export interface Subject {
  readonly instance: Instance
  readonly world: World
  readonly upstreams: readonly Upstream[]
  /** Undefined while an upstream is not known. */
  readonly known: InstanceKeys | undefined
  readonly found: FoundBlock | null
  /** The assessment, as far as it is the same for all states. */
  readonly base: Omit<Assessment, 'state'>
}

/** Finds the keys of an instance, as far as its upstreams are known, and its locked block. */
export async function createSubject(
  instance: Instance,
  world: World,
  upstreamOf: UpstreamOf,
): Promise<Subject> {
  const byText = new Map<string, Upstream>()
  for (const reference of instance.references) {
    if (!byText.has(reference.text)) byText.set(reference.text, await upstreamOf(reference))
  }
  const upstreams = [...byText.values()]
  const isKnown = upstreams.every(({ state }) => state === 'known')
  const known = isKnown ? await findKeys(instance, byText, world) : undefined
  const found = findBlock(instance, known?.keys ?? [], world)
  const base = {
    instance,
    key: known?.keys[(found?.variant ?? instance.pick ?? 1) - 1] ?? null,
    keys: known?.keys.slice(0, instance.variants) ?? [],
    fields: known?.fields ?? null,
    reasons: [],
    toMake: [],
    block: found?.block ?? null,
    lockedAs: found?.id ?? null,
    restore: null,
    moves: [],
  }
  return { instance, world, upstreams, known, found, base }
}

function findKeys(
  instance: Instance,
  upstreams: ReadonlyMap<string, Upstream>,
  world: World,
): Promise<InstanceKeys | undefined> {
  // A picked candidate stays one when there are to be fewer.
  const variants = Math.max(instance.variants, world.lock.get(instance.id)?.picked ?? 0)
  return keysOf({ ...instance, variants }, world.manifest.gateway, {
    fileDigest: (path) => world.inputDigest(path),
    upstream({ text }) {
      const found = upstreams.get(text)
      return found?.state === 'known' ? found.outputs : undefined
    },
  })
}

/** The result would replace files that nobody has locked. */
export function inTheWay({ base }: Subject, paths: readonly string[]): Assessment {
  const reasons = paths.map((path) => `${path} is there, and is not locked.`)
  return { ...base, state: 'in_the_way', reasons }
}
