import { extname } from 'node:path'
import { extensionOf, mediaTypeOfName } from '../../files/media-type.ts'
import { parseTemplate, type TemplateValues } from '../../files/output-plan.ts'
import type { OutputFacts, Result } from '../lock/lock-block.ts'
import { outputExtensions, promptOf, type Instance } from '../manifest/manifest.ts'

/** What the name of an output may depend on besides its instance. */
type NamedBy = Pick<Result, 'model' | 'job_id' | 'request_id'>

/**
 * Where the outputs of a result belong, relative to the output folder, in their order.
 * @param now milliseconds since 1970, for `{date}`
 */
function outputPaths(
  instance: Instance,
  outputs: readonly Pick<OutputFacts, 'media_type'>[],
  by: NamedBy,
  now: number,
): readonly string[] {
  if (!hasWords(instance)) return outputs.map(() => instance.output)
  return outputs.map(({ media_type }, at) => expand(instance, at + 1, extensionOf(media_type), by, now))
}

/**
 * The outputs of a result with the paths where they belong. Files that have places already keep a path that the manifest
 * still means.
 */
export function placeOutputs(instance: Instance, result: Result, now: number): readonly OutputFacts[] {
  const { outputs } = result
  const paths = outputPaths(instance, outputs, result, now)
  return outputs.map((facts, at) => {
    const path = paths[at]!
    return facts.path === path || (hasWords(instance) && fits(instance, facts, at + 1, result))
      ? facts
      : { ...facts, path }
  })
}

const unnamed: NamedBy = { model: null, job_id: null, request_id: null }

/**
 * For each output that is still to be made the paths that it may get; none where an id is a part of the name, which is new
 * in any case.
 */
export function possiblePaths(instance: Instance, now: number): readonly (readonly string[])[] {
  if (instance.waiting !== undefined) return []
  if (!hasWords(instance)) return [[instance.output]]
  const { tokens } = parseTemplate(instance.output)
  if (tokens.has('id')) return []
  const endings = tokens.has('ext') ? outputExtensions[instance.lane] : ['']
  return Array.from({ length: instance.count }, (_, at) =>
    endings.map((ending) => expand(instance, at + 1, ending, unnamed, now)),
  )
}

function hasWords({ output }: Instance): boolean {
  return /[{}]/.test(output)
}

function expand(instance: Instance, index: number, extension: string, by: NamedBy, now: number): string {
  return parseTemplate(instance.output).expand(valuesOf(instance, index, extension, by, now))
}

function valuesOf(
  instance: Instance,
  index: number,
  extension: string,
  by: NamedBy,
  now: number,
): TemplateValues {
  return {
    index,
    extension,
    model: instance.model ?? by.model ?? '',
    prompt: promptOf(instance) ?? '',
    kind: instance.lane === 'video' ? 'video' : 'image',
    now,
    id: by.job_id ?? by.request_id ?? undefined,
  }
}

/** The day is the one on which it was made: any will do. So will any id for a file that was adopted. */
function fits(instance: Instance, { path, media_type }: OutputFacts, index: number, by: NamedBy): boolean {
  const written = extname(path).slice(1)
  const extension = mediaTypeOfName(`.${written}`) === media_type ? written : extensionOf(media_type)
  const pattern = expand(
    instance,
    index,
    extension,
    { ...by, job_id: by.job_id ?? by.request_id ?? anyId },
    0,
  )
    .replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)
    .replaceAll('1970-01-01', String.raw`\d{4}-\d\d-\d\d`)
    .replaceAll(anyId, '[^/]+')
  return new RegExp(`^${pattern}$`, 'u').test(path)
}

const anyId = '0000any0id0000'
