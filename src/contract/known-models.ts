import { nearestName } from '../nearest-name.ts'
import { families, familyCalled, type FamilyId } from './families.ts'
import type { Family, FamilyEndpoint } from './field.ts'

export interface Model {
  readonly id: string
  readonly family: Family | undefined
  /** As YYYY-MM-DD; undefined where no day is known. */
  readonly retires: string | undefined
  /** Undefined for an unknown model. */
  readonly source: 'built-in' | 'configuration' | undefined
}

/** The families that a configuration gives to model ids; null for a model without a family. */
export type ModelFamilies = Readonly<Record<string, Family | null>>

const publicModels: readonly (readonly [id: string, family: FamilyId, retires?: string])[] = [
  ['gpt-image-2', 'gpt-image-2'],
  ['gpt-image-2.5-flare', 'gpt-image-2.5'],
  ['gpt-image-2.5-sunburst', 'gpt-image-2.5'],
  ['chatgpt-image-latest', 'image-model-a', '2026-12-01'],
  ['gpt-image-1.5', 'image-model-a', '2026-12-01'],
  ['gpt-image-1-mini', 'image-model-a-mini', '2026-12-01'],
  ['gpt-image-1', 'image-model-a', '2026-10-23'],
  ['dall-e-3', 'image-model-c', '2026-05-12'],
  ['dall-e-2', 'image-model-b', '2026-05-12'],
  ['sora-2', 'video-model-remix', '2026-09-24'],
  ['sora-2-pro', 'video-model-remix', '2026-09-24'],
]

/** Public ids without a family, by the day on which their vendor retires them (its own notices, November 2026). */
const retiring: Readonly<Record<string, string>> = {
  '2026-03-09': 'gemini-3-pro-preview',
  '2026-05-25': 'gemini-3.1-flash-lite-preview',
  '2026-06-01': 'gemini-2.0-flash gemini-2.0-flash-lite',
  '2026-06-25': 'gemini-3.1-flash-image-preview gemini-3-pro-image-preview',
  '2026-06-30': 'veo-2.0-generate-001 veo-3.0-generate-001 veo-3.0-fast-generate-001',
  '2026-07-23':
    'gpt-5-chat-latest gpt-5-codex gpt-5.1-chat-latest gpt-5.1-codex gpt-5.1-codex-max gpt-5.1-codex-mini gpt-5.2-codex o3-deep-research o4-mini-deep-research computer-use-preview',
  '2026-08-17': 'imagen-4.0-generate-001 imagen-4.0-fast-generate-001 imagen-4.0-ultra-generate-001',
  '2026-10-02': 'gemini-2.5-flash-image',
  '2026-10-23': 'gpt-3.5-turbo gpt-4 gpt-4-turbo gpt-4.1-nano o1 o1-pro o3-mini o4-mini',
  '2026-12-01': 'gemini-2.5-pro gemini-2.5-flash',
  '2026-12-11':
    'gpt-5-2025-08-07 gpt-5-mini-2025-08-07 gpt-5-nano-2025-08-07 gpt-5-pro-2025-10-06 o3-2025-04-16 o3-pro-2025-06-10',
  '2027-05-07': 'gemini-3.1-flash-lite',
}

const builtIn: readonly Model[] = [
  ...publicModels.map(([id, family, retires]) => known(id, familyCalled(family), retires)),
  ...Object.entries(retiring).flatMap(([day, ids]) => ids.split(' ').map((id) => known(id, undefined, day))),
]

/** The stand-ins of the specification, each the name of its family, are taken for models, too. */
export const standIns = families
  .filter(({ id }) => /-model-/.test(id))
  .map((family) => known(family.id, family))

function known(id: string, family: Family | undefined, retires?: string): Model {
  return { id, family, retires, source: 'built-in' }
}

/** Those of the configuration first, which may be built-in ones with another family. */
export function knownModels(configured: ModelFamilies = {}): readonly Model[] {
  const own = Object.keys(configured).map((id) => modelCalled(id, configured))
  return [...own, ...builtIn.filter(({ id }) => !Object.hasOwn(configured, id))]
}

/** `gpt-image-2` for the snapshot `gpt-image-2-2026-04-21`. */
export function withoutDate(id: string): string {
  return id.replace(/-\d{4}-\d{2}-\d{2}$/, '')
}

/** From the configuration first, then from the built-in table. A dated snapshot has what its id has. */
export function modelCalled(id: string, configured: ModelFamilies = {}): Model {
  const plain = withoutDate(id)
  const all = [...builtIn, ...standIns]
  const found = all.find((model) => model.id === id) ?? all.find((model) => model.id === plain)
  const name = [id, plain].find((candidate) => Object.hasOwn(configured, candidate))
  if (name !== undefined) {
    return { id, family: configured[name] ?? undefined, retires: found?.retires, source: 'configuration' }
  }
  return { family: undefined, retires: undefined, source: undefined, ...found, id }
}

export function familiesOf(endpoint: FamilyEndpoint): string[] {
  return families.filter(({ endpoints }) => endpoints[endpoint] !== undefined).map(({ id }) => id)
}

/** `gpt-image-2` for `gpt-imag-2`. Another version, and the id after the name of a vendor are no mistakes. */
function mistypedModel(
  { id, source }: Model,
  kind: Family['kind'],
  configured: ModelFamilies = {},
): string | undefined {
  if (source !== undefined) return undefined
  const digits = (text: string) => text.replaceAll(/\D/g, '')
  const candidates = knownModels(configured)
    .filter(({ id: other, family }) => family?.kind === kind && digits(other) === digits(id))
    .map((model) => model.id)
  return nearestName(id, candidates, id.length < 8 ? 1 : 2)
}

/** The one after the name of a vendor, or one spelled like it. */
export function nearestModel({ id, source }: Model, configured: ModelFamilies): string | undefined {
  if (source !== undefined) return undefined
  const bare = id.slice(id.lastIndexOf('/') + 1)
  if (modelCalled(bare, configured).source !== undefined) return bare
  const ids = knownModels(configured).flatMap((model) => (model.family === undefined ? [] : model.id))
  return nearestName(bare, ids)
}

/** What a user should know before paying, each a sentence. @param kind undefined where models have no families */
export function modelWarnings(model: Model, { kind, configured, now }: ModelQuestion): string[] {
  const { id, retires, source } = model
  const nearest = kind && mistypedModel(model, kind, configured)
  return [
    // Whoever configures a model knows that the gateway serves it.
    ...(retires === undefined || source === 'configuration' ? [] : [retirement(id, retires, now)]),
    ...(nearest === undefined
      ? []
      : [`The model ${JSON.stringify(id)} is unknown here; did you mean ${nearest}? It is sent unchanged.`]),
  ]
}

interface ModelQuestion {
  readonly kind: Family['kind'] | undefined
  readonly configured?: ModelFamilies | undefined
  readonly now: number
}

function retirement(id: string, retires: string, now: number): string {
  return now < Date.parse(retires)
    ? `${id} retires on ${retires}.`
    : `${id} was retired by its vendor on ${retires}; your gateway may still serve it.`
}
