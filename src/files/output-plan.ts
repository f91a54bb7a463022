import { cutBytes, isDeviceName, safeFileName, numberedPath, partialPath } from './file-name.ts'
import { createHash } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { rmdir } from 'node:fs/promises'
import { join, resolve, basename, dirname, extname } from 'node:path'
import type { FileContext } from '../context.ts'
import { ModelgateError, UsageError } from '../errors.ts'
import { mediaTypeOfName } from './media-type.ts'
import { sidecarPath } from './sidecar.ts'
import { openAtomicFile } from './atomic-file.ts'
import { findTarget } from './write-target.ts'

type OutputKind = 'image' | 'video'

export interface TemplateValues extends Pick<OutputRequest, 'model' | 'prompt' | 'kind' | 'now'> {
  readonly index: number
  readonly extension: string
  readonly id: string | undefined
}

/** Maximum bytes of a value, so that no value makes a name too long for a file system. */
const maxBytes = { model: 60, id: 80, slug: 48 }

const tokenValues = {
  index: ({ index }: TemplateValues) => String(index),
  ext: ({ extension }: TemplateValues) => safeFileName(extension),
  model: ({ model }: TemplateValues) => shortName(model || 'model', maxBytes.model),
  date: ({ now }: TemplateValues) => new Date(now).toISOString().slice(0, 10),
  slug: ({ prompt, kind }: TemplateValues) => slugOf(prompt, kind),
  id: ({ id }: TemplateValues) => shortName(id || 'no-id', maxBytes.id),
}
type TemplateToken = keyof typeof tokenValues
export const templateTokens = Object.keys(tokenValues) as readonly TemplateToken[]

type OutputTemplate = ReturnType<typeof parseTemplate>

const braces = /\{\{|\}\}|\{([^{}]*)\}/g

/** Reads a file name with placeholders such as `out/{slug}-{index}.{ext}`; `{{` and `}}` are literal braces. */
export function parseTemplate(text: string) {
  const words = [...text.matchAll(braces)].flatMap(([, word]) => (word === undefined ? [] : [word]))
  return {
    tokens: new Set(words.filter(isToken)),
    unknown: words.filter((word) => !isToken(word)).map((word) => `{${word}}`),
    /** Fills in the values, whatever they contain, without creating a folder, a hidden file or a reserved name. */
    expand(values: TemplateValues): string {
      const name = text.replace(braces, (whole: string, word: string | undefined) => {
        if (word === undefined) return whole[0]!
        return isToken(word) ? tokenValues[word](values) : whole
      })
      // Without words, a reserved name is the user's own.
      return words.length === 0
        ? name
        : name.replace(/[^/\\]+/g, (part) => (isDeviceName(part) ? `_${part}` : part))
    },
  }
}

export function literalTemplate(text: string): string {
  return text.replace(/[{}]/g, '$&$&')
}

function isToken(word: string): word is TemplateToken {
  return Object.hasOwn(tokenValues, word)
}

export function slugOf(prompt: string, kind: OutputKind = 'image'): string {
  const words = prompt
    .slice(0, 1000)
    .toLowerCase()
    .normalize('NFC')
    .replaceAll(/\p{Default_Ignorable_Code_Point}+/gu, '')
    .replaceAll(/[^\p{L}\p{N}\p{M}]+/gu, '-')
    .replace(/^[-\p{M}]+/u, '')
  const cut = cutBytes(words, maxBytes.slug)
  const wholeWords = cut.length < words.length && words[cut.length] !== '-' ? cut.replace(/-[^-]*$/, '') : cut
  const slug = (wholeWords.length > cut.length / 3 ? wholeWords : cut).replace(/-+$/, '')
  return slug === '' ? kind : slug
}

function shortName(text: string, bytes: number): string {
  return cutBytes(safeFileName(text), bytes).replace(/[.-]+$/, '')
}

export interface OutputRequest {
  /** What `-o` says: a name, a folder (`DIR/` or one that exists), a template, or `-`. */
  readonly output?: string | null | undefined
  readonly folder?: string | null | undefined
  readonly kind?: OutputKind
  readonly count: number
  readonly force: boolean
  readonly model: string
  readonly prompt: string
  readonly now: number
}

/** Further files get their names later. */
export const maxPlannedNames = 100

export type OutputPlan = ReturnType<typeof planOutputs>

interface PlannedImage {
  readonly index: number
  readonly extension: string
  readonly id?: string | undefined
  /** Of a preview, from 0. */
  readonly partial?: number | undefined
}

interface ExpectedFiles {
  /** By default `png`, for videos `mp4`. */
  readonly extension?: string
  readonly sidecar?: boolean
  readonly partials?: boolean
}

export function planOutputs(context: FileContext, request: OutputRequest) {
  const { output, kind = 'image', count } = request
  const folder = output == null ? literalTemplate(request.folder ?? '.') : folderOf(context, output)
  const text = folder === undefined ? output! : join(folder, automaticName(request))
  const template = parseTemplate(text)
  const toStandardOutput = output === '-'

  /** Never the same path for two images, even if more arrive than were requested. */
  function pathFor({ index, extension, id, partial }: PlannedImage): string {
    if (toStandardOutput) return '-'
    const path = template.expand({ ...request, index, extension, id })
    const isNumbered = template.tokens.has('index') || (count <= 1 && index <= 1)
    const numbered = isNumbered ? path : numberedPath(path, index)
    return partial === undefined ? numbered : partialPath(numbered, partial)
  }
  return {
    toStandardOutput,
    /** Of the prompt and a digest, the same in every run; if it is taken, the next free one is used. */
    isAutomatic: folder !== undefined,
    pathFor,
    /** Every problem that would prevent saving, before anything is sent. */
    async check(expected: ExpectedFiles = {}): Promise<readonly ModelgateError[]> {
      const { extension = kind === 'video' ? 'mp4' : 'png', sidecar = false, partials = false } = expected
      const problems = nameProblems(context, request, text, template, folder === undefined)
      if (problems.length > 0 || toStandardOutput) return problems
      const mayBeTaken = folder !== undefined || template.tokens.has('id')
      const files = Array.from({ length: count }, (_, at) => {
        // Checks the length with the longest possible id. Existing files are not checked, since the id is unknown.
        const planned = { index: at + 1, extension, id: 'x'.repeat(80) }
        const path = pathFor(planned)
        return [
          { path, mayBeTaken },
          ...(sidecar ? [{ path: sidecarPath(path), mayBeTaken }] : []),
          ...(partials ? [{ path: pathFor({ ...planned, partial: 0 }), mayBeTaken: true }] : []),
        ]
      })
      return await placeProblems(context, files.flat(), request.force)
    },
  }
}

function automaticName({ model, prompt, kind }: OutputRequest): string {
  const digest = createHash('sha256').update(`${model}\0${prompt}`).digest('hex').slice(0, 8)
  return `${slugOf(prompt, kind)}-${digest}.{ext}`
}

/** The media type that the extension of `-o` promises; undefined for a folder, a stream and an extension left open. */
export function promisedMediaType(context: FileContext, output: string): string | undefined {
  if (output === '-' || folderOf(context, output) !== undefined) return undefined
  const extension = extname(output)
  return extension.includes('}') ? undefined : mediaTypeOfName(extension)
}

/** The folder that `-o` names, as a template; undefined when it names a file. */
function folderOf(context: FileContext, output: string): string | undefined {
  if ((context.platform === 'win32' ? /[/\\]$/ : /\/$/).test(output)) return output
  try {
    const isFolder = output !== '' && statSync(resolve(context.cwd, output)).isDirectory()
    return isFolder ? literalTemplate(output) : undefined
  } catch {
    return undefined
  }
}

/** One problem each, found without file access. @param isNamed whether the user named a file rather than a folder */
function nameProblems(
  { platform }: FileContext,
  { kind = 'image', count }: OutputRequest,
  text: string,
  { tokens, unknown }: OutputTemplate,
  isNamed: boolean,
): UsageError[] {
  const name = `-o ${JSON.stringify(text)}`
  if (text === '-') {
    if (count <= 1) return []
    const message = `-o - takes one ${kind}, but ${count} were requested.`
    const hint = `Ask for one ${kind}, or name a folder: -o DIR/`
    return [new UsageError(message, { hint })]
  }
  const known = templateTokens.map((token) => `{${token}}`).join(' ')
  const refused = platform === 'win32' ? windowsProblem(text) : undefined
  const problems: UsageError[] = []
  const add = (message: string, facts = {}) => void problems.push(new UsageError(`${name}${message}`, facts))
  if (text === '' || /[\0-\x1f\x7f]/.test(text)) add(' is not a file name.', { code: 'bad_file_name' })
  if (unknown.length > 0) {
    const hint = `Use ${known}, or {{ and }} for literal braces.`
    add(` has an unknown placeholder: ${unknown.join(', ')}.`, { hint })
  }
  if (isNamed && count > 1 && tokens.size > 0 && !tokens.has('index')) {
    const hint = 'Add {index} to the name, for example: -o "hero-{index}.{ext}"'
    add(` gives all ${count} ${kind}s the same name.`, { hint })
  }
  if (text.slice(0, text.length - basename(text).length).includes('{id}')) {
    add(`: {id} is known only after the ${kind}s are made, so it cannot be part of a folder name.`)
  }
  if (refused !== undefined) {
    add(`: Windows has no files named ${JSON.stringify(refused)}.`, { code: 'bad_file_name' })
  }
  return problems
}

function windowsProblem(text: string): string | undefined {
  const parts = text.replace(/^[a-z]:/i, '').split(/[/\\]/)
  const isRefused = (part: string) =>
    /[<>:"|?*]/.test(part) || isDeviceName(part) || (/[. ]$/.test(part) && !/^\.\.?$/.test(part))
  return parts.find(isRefused)
}

/** Problems with the targets: every existing file, and one other problem per folder. */
async function placeProblems(
  context: FileContext,
  files: readonly { readonly path: string; readonly mayBeTaken: boolean }[],
  force: boolean,
): Promise<ModelgateError[]> {
  const problems: ModelgateError[] = []
  const missing = new Set(files.flatMap(({ path }) => missingFolders(resolve(context.cwd, path))))
  const [tried, reported] = [new Set<string>(), new Set<string>()]
  for (const { path, mayBeTaken } of files) {
    const folder = dirname(path)
    const options = { force, numbered: mayBeTaken }
    try {
      const { kind } = await findTarget(context, path, options)
      // A temporary file is the only reliable test for write permission. Opening a pipe would block until it has a reader.
      if (kind === 'file' && !tried.has(folder))
        await (await openAtomicFile(context, path, options)).discard()
      tried.add(folder)
    } catch (error) {
      if (!(error instanceof ModelgateError)) throw error
      const isTaken = error.code === 'file_exists'
      if (isTaken || !reported.has(folder)) problems.push(error)
      if (isTaken) continue
      tried.add(folder)
      reported.add(folder)
    }
  }
  for (const folder of [...missing].toSorted((one, other) => other.length - one.length)) {
    await rmdir(folder).catch(() => {})
  }
  return problems
}

function missingFolders(path: string): string[] {
  const folder = dirname(path)
  return folder === path || existsSync(folder) ? [] : [folder, ...missingFolders(folder)]
}
