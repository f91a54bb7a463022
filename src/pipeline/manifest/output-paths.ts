import { extname, posix } from 'node:path'
import { isDeviceName } from '../../files/file-name.ts'
import { extensionOf, mediaTypeOfName } from '../../files/media-type.ts'
import { parseTemplate, templateTokens } from '../../files/output-plan.ts'
import type { OutputFacts, Result } from '../lock/lock-block.ts'
import { outputExtensions, promptOf, type Instance } from './manifest.ts'

export interface TakenPath {
  readonly path: string
  /** What it is, for the message: `the manifest`, `an input of banner`. */
  readonly what: string
  /** The instance whose output it is. */
  readonly owner?: Instance
}

type Report = (output: Instance, message: string) => void

const quoted = (text: string) => JSON.stringify(text)

type OutputTemplate = ReturnType<typeof parseTemplate>

/**
 * Reports every mistake in the places of outputs: outside the manifest's folder, names that some system refuses or reads
 * in another way, and two files in one place, also where only case or the form of Unicode distinguishes them.
 */
export function checkOutputs(outputs: readonly Instance[], taken: readonly TakenPath[], report: Report) {
  const places = new Map<string, TakenPath>()
  for (const { path, what } of taken) {
    const plain = posix.normalize(path)
    const key = foldedPath(plain)
    if (!places.has(key)) places.set(key, { path: plain, what })
  }
  for (const [number, output] of outputs.entries()) {
    const template = parseTemplate(output.output)
    const clauses = templateProblems(output, template)
    // What is not known yet differs between instances; the day does not.
    const paths = clauses.length > 0 ? [] : pathsOf(output, template, 0, `${number}`).flat()
    // The paths of one output differ in what cannot be wrong.
    const clause = paths[0] === undefined ? undefined : pathProblem(paths[0])
    if (clause !== undefined) clauses.push(clause)
    for (const each of clauses) report(output, `${quoted(output.output)} ${each}`)
    if (clauses.length > 0) continue
    const keys = new Map(paths.map((path) => [foldedPath(path), path]))
    const clash = keys.keys().find((key) => places.has(key))
    if (clash !== undefined) report(output, samePlace(keys.get(clash)!, output, places.get(clash)!))
    const what = `an output of ${quoted(output.id)}`
    for (const [key, path] of keys) if (!places.has(key)) places.set(key, { path, what, owner: output })
  }
  reportFolders(places, report)
}

function reportFolders(places: ReadonlyMap<string, TakenPath>, report: Report): void {
  const known = new Set<string>()
  for (const [key, { path, what, owner }] of places) {
    for (let end = key.lastIndexOf('/'); end > 0; end = key.lastIndexOf('/', end - 1)) {
      const name = key.slice(0, end)
      // Its parent folders have been looked up with it.
      if (known.has(name)) break
      known.add(name)
      const folder = places.get(name)
      const writer = owner ?? folder?.owner
      if (folder === undefined || writer === undefined) continue
      report(writer, `${quoted(path)}, ${what}, is in ${quoted(folder.path)}, ${folder.what}.`)
    }
  }
}

function samePlace(path: string, { id, job }: Instance, { path: taken, what, owner }: TakenPath): string {
  const shown = quoted(path)
  if (owner === undefined)
    return `${shown} is ${what}, which an output cannot replace; ${quoted(`@${id}`)} refers to an output.`
  const [one, other] = [quoted(owner.id), quoted(id)]
  if (path !== taken) {
    return `${quoted(taken)} of ${one} and ${shown} of ${other} are one file on systems that ignore case or the form of Unicode.`
  }
  const hint = owner.job === job ? ' Put a column into `out`, such as ${id}.' : ''
  return `${one} and ${other} write one file: ${shown}.${hint}`
}

function templateProblems({ output, count }: Instance, { tokens, unknown }: OutputTemplate): string[] {
  const clauses: string[] = []
  if (unknown.length > 0) {
    const known = templateTokens.map((token) => `{${token}}`).join(' ')
    clauses.push(
      `has an unknown placeholder: ${unknown.join(', ')}. Known are ${known}; {{ and }} are literal braces, and a column is \${name}.`,
    )
  }
  if (count > 1 && !tokens.has('index')) {
    clauses.push(`is one name for ${count} files: put {index} into it.`)
  }
  if (tokens.has('id') && output.slice(0, output.lastIndexOf('/') + 1).includes('{id}')) {
    clauses.push("has {id}, which is known only after the request, in a folder's name.")
  }
  return clauses
}

/** The paths that each output may get. @param unknown stands for a prompt or an id that is not known yet */
function pathsOf(instance: Instance, template: OutputTemplate, now: number, unknown: string) {
  const endings = template.tokens.has('ext') ? outputExtensions[instance.lane] : ['']
  const facts = nameFacts(instance, now, { id: unknown, prompt: unknown })
  return Array.from({ length: instance.count }, (_, at) =>
    endings.map((extension) => template.expand({ ...facts, index: at + 1, extension })),
  )
}

/** What the words of a name stand for. @param known what the instance itself does not say */
function nameFacts(
  instance: Instance,
  now: number,
  known: { readonly id: string | undefined; readonly model?: string | null; readonly prompt?: string },
) {
  return {
    model: instance.model ?? known.model ?? '',
    prompt: promptOf(instance) ?? known.prompt ?? '',
    kind: instance.lane === 'video' ? 'video' : 'image',
    id: known.id,
    now,
  } as const
}

const maxNameBytes = 240
const maxPathBytes = 1024

const pathRules: readonly (readonly [pattern: RegExp, clause: string])[] = [
  [/^-?$/, 'is not the name of a file.'],
  [/[\p{Cc}\p{Cs}]/u, 'has a control character in it.'],
  [/\\/, 'has a backslash in it: write / on every system.'],
  [/^\/|^[a-z]:/i, "is an absolute path: outputs must be below the manifest's folder."],
  [/\/$/, 'is a folder: name a file.'],
  [/\/\//, 'has two slashes in a row.'],
  [/(?:^|\/)\.\.(?:\/|$)/, "leads out of a folder: outputs must be below the manifest's folder."],
  [/(?:^|\/)\.(?:\/|$)/, 'has a `.` in it that means nothing: leave it out.'],
  [/[. ](?:\/|$)/, 'has a name that ends with a dot or a space, which Windows strips.'],
  [/[<>:"|?*]/, 'has one of < > : " | ? * in it, which Windows refuses.'],
]

/** Names of folders that other programs, or this one, keep their own state in, and their short forms on Windows. */
const reserved = new Set(['.git', 'git~1', '.modelgate', 'modelg~1'].map(foldedPath))

function pathProblem(path: string): string | undefined {
  const broken = pathRules.find(([pattern]) => pattern.test(path))
  if (broken !== undefined) return broken[1]
  if (Buffer.byteLength(path) > maxPathBytes) return `is longer than ${maxPathBytes} bytes.`
  for (const part of path.split('/')) {
    if (isDeviceName(part)) return 'is a device on Windows.'
    // Some systems skip characters that are not shown.
    if (reserved.has(foldedPath(part).replaceAll(/\p{Default_Ignorable_Code_Point}/gu, ''))) {
      return `is in ${part}, which is not for outputs.`
    }
    if (Buffer.byteLength(part) > maxNameBytes) return `has a name that is longer than ${maxNameBytes} bytes.`
  }
  return undefined
}

/** Equal for paths that some file system takes for the same. */
export function foldedPath(path: string): string {
  return /^[\0-\x7f]*$/.test(path) ? path.toUpperCase() : path.normalize('NFC').toUpperCase().normalize('NFC')
}

type NamedBy = Pick<Result, 'model' | 'job_id' | 'request_id'>

/**
 * The outputs of a result with the paths where they belong, relative to the output folder: those that they have, while the
 * manifest still means them.
 */
export function placeOutputs(instance: Instance, result: Result, now: number): readonly OutputFacts[] {
  return result.outputs.map((facts, at) => {
    if (!hasWords(instance)) return { ...facts, path: instance.output }
    const path = expand(instance, at + 1, extensionOf(facts.media_type), result, now)
    return facts.path === path || fits(instance, facts, at + 1, result) ? facts : { ...facts, path }
  })
}

/** For each output that is still to be made the paths that it may get; none where its name has an id, which is new. */
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
  const facts = nameFacts(instance, now, { id: by.job_id ?? by.request_id ?? undefined, model: by.model })
  return parseTemplate(instance.output).expand({ ...facts, index, extension })
}

/** The day is the one on which it was made: any will do. So will any id for a file that was adopted. */
function fits(instance: Instance, { path, media_type }: OutputFacts, index: number, by: NamedBy): boolean {
  const written = extname(path).slice(1)
  const extension = mediaTypeOfName(`.${written}`) === media_type ? written : extensionOf(media_type)
  const { tokens } = parseTemplate(instance.output)
  const days = tokens.has('date') ? (path.match(/\d{4}-\d\d-\d\d/g) ?? []) : ['1970-01-01']
  const named = { ...by, job_id: by.job_id ?? by.request_id ?? anyId }
  return days.some((day) => {
    const parts = expand(instance, index, extension, named, Date.parse(day) || 0).split(anyId)
    const escaped = parts.map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`))
    return new RegExp(`^${escaped.join('[^/]+')}$`, 'u').test(path)
  })
}

const anyId = '0000any0id0000'
