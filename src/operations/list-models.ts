import type { Endpoint, Family, Field } from '../contract/field.ts'
import { imageCreateEndpoint, imageEditEndpoint } from '../contract/images.ts'
import {
  knownModels,
  modelCalled,
  nearestModel,
  type Model,
  type ModelFamilies,
} from '../contract/known-models.ts'
import { videoRemixEndpoint } from '../contract/videos.ts'
import type { FieldLimit, ModelEntry, ModelsDocument } from '../events/model.ts'
import { outputVersion } from '../events/version.ts'
import { fetchModels } from '../gateway/model-list.ts'
import { settle, type Call, type Outcome } from './operation.ts'

const head = { version: outputVersion, command: 'models' } as const

/** What is known of models without asking a gateway. @param id undefined for all @param warnings why not the gateway's */
export function describeModels(
  id: string | undefined,
  configured: ModelFamilies,
  now: number,
  warnings: readonly string[] = [],
): ModelsDocument {
  const known = id === undefined ? knownModels(configured) : [modelCalled(id, configured)]
  const models = known.map((model) => ({
    ...describe(model, now),
    // Of one that is asked for also the limits of a model of no family.
    ...(id !== undefined && {
      nearest: nearestModel(model, configured) ?? null,
      endpoints: limitsOf(model.family),
    }),
  }))
  return { ...head, gateway: null, models, request_id: null, warnings }
}

export async function listModels(call: Call, configured: ModelFamilies): Promise<Outcome<ModelsDocument>> {
  const { gateway, listener, context } = call
  let document: ModelsDocument | undefined
  const work = async () => {
    listener.event({ type: 'start', ...head, model: null })
    const { models: sent, requestId, isCut } = await fetchModels(gateway, listener.raw)
    const now = context.clock.now()
    const models = sent.map((model) => describe(modelCalled(model.id, configured), now, model.listed))
    const warnings = isCut ? ['The gateway lists more models than are shown.'] : []
    document = { ...head, gateway: gateway.baseUrl.href, models, request_id: requestId, warnings }
    for (const model of models) listener.event({ type: 'model-list', model })
    for (const message of warnings) listener.event({ type: 'warning-add', message })
  }
  // Reading a list costs nothing, whatever came of it.
  return settle(
    call,
    work,
    () => document,
    (error) => error.amend({ billed: 'no' }),
  )
}

function describe(model: Model, now: number, listed: ModelEntry['listed'] = null): ModelEntry {
  const { id, family, retires, source } = model
  return {
    id,
    kind: family?.kind ?? kindOf(listed?.methods ?? []),
    family: family?.id ?? null,
    about: family?.about ?? null,
    source: source ?? null,
    retires: retires ?? null,
    retired: retires !== undefined && now >= Date.parse(retires),
    nearest: null,
    endpoints: family === undefined ? [] : limitsOf(family),
    sources: sourcesOf(family),
    listed,
  }
}

function kindOf(methods: readonly string[]): string | null {
  if (methods.some((method) => /generateContent$/i.test(method))) return 'text'
  return methods.includes('predictLongRunning') ? 'video' : null
}

/** The endpoints whose limits depend on the family, or would, for a model of none. */
const endpoints: readonly Endpoint[] = [imageCreateEndpoint, imageEditEndpoint, videoRemixEndpoint]

function limitsOf(family: Family | undefined): ModelEntry['endpoints'] {
  return endpoints.flatMap(({ name, fields }) => {
    const own = family === undefined ? {} : family.endpoints[name!]
    if (own === undefined) return []
    // Partial images come only in a stream.
    const isStreamed = own['stream'] !== false
    const limits = Object.entries(fields).flatMap(([field, wide]) =>
      isStreamed || field !== 'partial_images' ? (limitOf(field, wide, own[field]) ?? []) : [],
    )
    return [{ command: name!, limits }]
  })
}

/** What a family takes in a field, if that is limited at all. */
export function limitOf(
  name: string,
  wide: Field,
  own: Partial<Field> | false | undefined,
): FieldLimit | undefined {
  const field: Partial<Field> = own === false ? {} : { ...wide, ...own }
  const { values = null, size = null, min = null, max = null, maxLength = null } = field
  const isLimited = [values, size, min, max, maxLength].some((value) => value !== null)
  if (own !== false && !isLimited) return undefined
  return { field: name, taken: own !== false, values, size, min, max, max_length: maxLength }
}

function sourcesOf(family: Family | undefined): ModelEntry['sources'] {
  if (family?.sources === undefined) return null
  const { max_count, below_bytes, ...others } = family.sources
  const finite = (limit: number) => (Number.isFinite(limit) ? limit : null)
  return { max_count: finite(max_count), below_bytes: finite(below_bytes), ...others }
}
