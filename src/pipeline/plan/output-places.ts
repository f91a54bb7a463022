import { extname } from 'node:path'
import { extensionOf, mediaTypeOfName } from '../../files/media-type.ts'
import { parseTemplate } from '../../files/output-plan.ts'
import type { OutputFacts, Result } from '../lock/lock-block.ts'
import { promptOf, type Instance } from '../manifest/manifest.ts'
import { pathsOf } from '../manifest/output-paths.ts'

/** What the name of an output may depend on besides its instance. */
type NamedBy = Pick<Result, 'model' | 'job_id' | 'request_id'>

/**
 * The outputs of a result with the paths where they belong, relative to the output folder. Files that have places already
 * keep a path that the manifest still means.
 * @param now milliseconds since 1970, for `{date}`
 */
export function placeOutputs(instance: Instance, result: Result, now: number): readonly OutputFacts[] {
  return result.outputs.map((facts, at) => {
    if (!hasWords(instance)) return { ...facts, path: instance.output }
    const path = expand(instance, at + 1, extensionOf(facts.media_type), result, now)
    return facts.path === path || fits(instance, facts, at + 1, result) ? facts : { ...facts, path }
  })
}

/**
 * For each output that is still to be made the paths that it may get; none where an id is a part of the name, which is new
 * in any case.
 */
export function possiblePaths(instance: Instance, now: number): readonly (readonly string[])[] {
  if (instance.waiting !== undefined) return []
  if (!hasWords(instance)) return [[instance.output]]
  const template = parseTemplate(instance.output)
  return template.tokens.has('id') ? [] : pathsOf(instance, template, now, '')
}

function hasWords({ output }: Instance): boolean {
  return /[{}]/.test(output)
}

function expand(instance: Instance, index: number, extension: string, by: NamedBy, now: number): string {
  return parseTemplate(instance.output).expand({
    index,
    extension,
    model: instance.model ?? by.model ?? '',
    prompt: promptOf(instance) ?? '',
    kind: instance.lane === 'video' ? 'video' : 'image',
    now,
    id: by.job_id ?? by.request_id ?? undefined,
  })
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
