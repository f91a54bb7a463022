import { cutBytes, isDeviceName, safeFileName, numberedPath, partialPath } from './file-name.ts'
import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { join, resolve, basename, dirname } from 'node:path'
import type { Context } from '../context.ts'
import { ModelgateError, UsageError } from '../errors.ts'
import { sidecarPath } from './sidecar.ts'
import { openAtomicFile } from './open-atomic-file.ts'
import { findTarget } from './write-target.ts'

/** The words in braces that a file name may hold. */
export const templateTokens = ['index', 'ext', 'model', 'date', 'slug', 'id'] as const
type TemplateToken = (typeof templateTokens)[number]

/** What a command makes. */
type OutputKind = 'image' | 'video'

/** The values of the tokens. */
export interface TemplateValues {
  readonly index: number
  /** Without the dot. */
  readonly extension: string
  readonly model: string
  readonly prompt: string
  /** Names what has no prompt; an image unless given. */
  readonly kind?: OutputKind
  /** Milliseconds since 1970; `{date}` is its day in UTC, as 2026-08-20. */
  readonly now: number
  readonly id: string | undefined
}

/** A file name with tokens. */
interface OutputTemplate {
  readonly tokens: ReadonlySet<TemplateToken>
  /** Words in braces that mean nothing, as they were written. */
  readonly unknown: readonly string[]
  /** Whatever the values hold, they add no folder, no hidden file and no name that some system keeps for itself. */
  expand(values: TemplateValues): string
}

/** `{{` and `}}` are literal braces. */
const braces = /\{\{|\}\}|\{([^{}]*)\}/g

/** Reads a name such as `out/{slug}-{index}.{ext}`. */
export function parseTemplate(text: string): OutputTemplate {
  const words = [...text.matchAll(braces)].flatMap(([, word]) => (word === undefined ? [] : [word]))
  return {
    tokens: new Set(words.filter(isToken)),
    unknown: words.filter((word) => !isToken(word)).map((word) => `{${word}}`),
    expand(values) {
      const name = text.replace(braces, (whole: string, word: string | undefined) => {
        if (word === undefined) return whole[0]!
        return isToken(word) ? valueOf(word, values) : whole
      })
      return words.length === 0
        ? name
        : name
            .split(/([/\\])/)
            .map(withoutDevice)
            .join('')
    },
  }
}

/** Escapes text so that it is literal in a template. */
export function literalTemplate(text: string): string {
  return text.replace(/[{}]/g, '$&$&')
}

/** At most this many bytes of a value go into a name, so that no value makes it too long for a file system. */
const maxBytes = { model: 60, id: 80, slug: 48 }

function valueOf(token: TemplateToken, values: TemplateValues): string {
  switch (token) {
    case 'index':
      return String(values.index)
    case 'ext':
      return safeFileName(values.extension)
    case 'model':
      return shortName(values.model || 'model', maxBytes.model)
    case 'date':
      return new Date(values.now).toISOString().slice(0, 10)
    case 'slug':
      return slugOf(values.prompt, values.kind)
    case 'id':
      return shortName(values.id || 'no-id', maxBytes.id)
  }
}

function isToken(word: string): word is TemplateToken {
  return (templateTokens as readonly string[]).includes(word)
}

/** The first words of a prompt, in small letters, joined by dashes; what it is a prompt for when it has none. */
export function slugOf(prompt: string, kind: OutputKind = 'image'): string {
  const words = prompt
    .slice(0, 1000)
    .toLowerCase()
    .normalize('NFC')
    .replaceAll(/\p{Default_Ignorable_Code_Point}+/gu, '')
    .replaceAll(/[^\p{L}\p{N}\p{M}]+/gu, '-')
    .replace(/^[-\p{M}]+/u, '')
  const cut = cutBytes(words, maxBytes.slug)
  // Ends between words where that leaves enough of them.
  const wholeWords = cut.length < words.length && words[cut.length] !== '-' ? cut.replace(/-[^-]*$/, '') : cut
  const slug = (wholeWords.length > cut.length / 3 ? wholeWords : cut).replace(/-+$/, '')
  return slug === '' ? kind : slug
}

function shortName(text: string, bytes: number): string {
  return cutBytes(safeFileName(text), bytes).replace(/[.-]+$/, '')
}

function withoutDevice(component: string): string {
  return isDeviceName(component) ? `_${component}` : component
}

export interface OutputRequest {
  /** What `-o` says: a name, a folder (`DIR/` or one that exists), a template, or `-`. */
  readonly output?: string
  /** The folder for files that `-o` does not name (`output_dir`). */
  readonly folder?: string
  /** What is made; images unless given. */
  readonly kind?: OutputKind
  /** How many of them are requested. */
  readonly count: number
  /** Replace existing files. */
  readonly force: boolean
  readonly model: string
  readonly prompt: string
  /** Milliseconds since 1970. */
  readonly now: number
}

/** More file names than this are not planned ahead; any beyond get their own. */
export const maxPlannedNames = 100

/** Where the images, or the videos, of one command go. */
export interface OutputPlan {
  /** The image goes to standard output (`-o -`). */
  readonly toStandardOutput: boolean
  /**
   * The user named no file: the name comes from the prompt and a digest of model and prompt, so it is the same in
   * every run; when it is taken, the next free one is as good.
   */
  readonly isAutomatic: boolean
  /** Two images of one command never get the same path, even when more arrive than were requested. */
  pathFor(image: PlannedImage): string
  /**
   * Everything about names and places that would keep an image from being saved, found before anything is sent:
   * what is wrong with the name, a missing folder (exit 2), a file that exists, a folder that cannot be written (10).
   */
  check(expected?: ExpectedFiles): Promise<readonly ModelgateError[]>
}

interface PlannedImage {
  /** From 1. */
  readonly index: number
  /** Without the dot. */
  readonly extension: string
  /** The id of the reply; it becomes `{id}` and is made safe. */
  readonly id?: string | undefined
  /** The number of a partial image, which is saved as `NAME-partial-0.EXT`. */
  readonly partial?: number | undefined
}

interface ExpectedFiles {
  /** The extension that the images will most likely have; `png`, for videos `mp4`, unless given. */
  readonly extension?: string
  /** Records are written beside the images. */
  readonly sidecar?: boolean
  /** Previews are kept beside the images. */
  readonly partials?: boolean
}

/** Decides the names of a command's images or videos. Changes nothing; looks only whether `-o` is a folder. */
export function planOutputs(context: Context, request: OutputRequest): OutputPlan {
  const { output, kind = 'image', count } = request
  const folder = output === undefined ? literalTemplate(request.folder ?? '.') : folderOf(context, output)
  const text = folder === undefined ? output! : join(folder, automaticName(request))
  const template = parseTemplate(text)
  const toStandardOutput = output === '-'

  function pathFor({ index, extension, id, partial }: PlannedImage): string {
    if (toStandardOutput) return '-'
    const path = template.expand({ ...request, index, extension, id })
    const isNumbered = template.tokens.has('index') || (count <= 1 && index <= 1)
    const numbered = isNumbered ? path : numberedPath(path, index)
    return partial === undefined ? numbered : partialPath(numbered, partial)
  }
  return {
    toStandardOutput,
    isAutomatic: folder !== undefined,
    pathFor,
    async check({ extension = kind === 'video' ? 'mp4' : 'png', sidecar = false, partials = false } = {}) {
      const problems = nameProblems(context, { text, template, kind, count, isNamed: folder === undefined })
      if (problems.length > 0 || toStandardOutput) return problems
      const mayBeTaken = folder !== undefined || template.tokens.has('id')
      const files = Array.from({ length: count }, (_, at) => {
        // The longest id that a name can hold shows whether the name gets too long; what exists it cannot show.
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

/** As a template: the user's own text may hold tokens, the rest is literal. */
function automaticName({ model, prompt, kind }: OutputRequest): string {
  const digest = createHash('sha256').update(`${model}\0${prompt}`).digest('hex').slice(0, 8)
  return `${slugOf(prompt, kind)}-${digest}.{ext}`
}

/** The folder that `-o` names, as a template; undefined when it names a file. */
function folderOf(context: Context, output: string): string | undefined {
  if ((context.platform === 'win32' ? /[/\\]$/ : /\/$/).test(output)) return output
  try {
    const isFolder = output !== '' && statSync(resolve(context.cwd, output)).isDirectory()
    return isFolder ? literalTemplate(output) : undefined
  } catch {
    return undefined
  }
}

interface NamedOutput {
  /** The name as it was given, tokens and all. */
  readonly text: string
  readonly template: OutputTemplate
  readonly kind: OutputKind
  readonly count: number
  /** The user named a file rather than a folder. */
  readonly isNamed: boolean
}

/** What is wrong with a name before anything is looked up: one problem each, none when it is fine. */
function nameProblems(context: Context, { text, template, kind, count, isNamed }: NamedOutput): UsageError[] {
  const { tokens, unknown } = template
  const shown = JSON.stringify(text)
  const problems: UsageError[] = []
  const add = (code: string, message: string, hint?: string) =>
    problems.push(new UsageError(message, hint === undefined ? { code } : { code, hint }))

  if (text === '-') {
    if (count > 1) {
      const hint = `Ask for one ${kind}, or name a folder: -o DIR/`
      add(`one_${kind}_only`, `-o - takes one ${kind}, but ${count} were requested.`, hint)
    }
    return problems
  }
  if (text === '' || /[\0-\x1f\x7f]/.test(text)) {
    add('bad_file_name', `-o ${shown} is not a file name.`)
  }
  if (unknown.length > 0) {
    const known = templateTokens.map((token) => `{${token}}`).join(' ')
    add(
      'unknown_token',
      `-o ${shown} has an unknown placeholder: ${unknown.join(', ')}.`,
      `Use ${known}, or {{ and }} for literal braces.`,
    )
  }
  if (isNamed && count > 1 && tokens.size > 0 && !tokens.has('index')) {
    add(
      'names_collide',
      `-o ${shown} gives all ${count} ${kind}s the same name.`,
      'Add {index} to the name, for example: -o "hero-{index}.{ext}"',
    )
  }
  if (text.slice(0, text.length - basename(text).length).includes('{id}')) {
    add(
      'id_in_folder',
      `-o ${shown}: {id} is known only after the ${kind}s are made, so it cannot be part of a folder name.`,
    )
  }
  const refused = context.platform === 'win32' ? windowsProblem(text) : undefined
  if (refused !== undefined) add('bad_file_name', `-o ${shown}: Windows has no files named ${refused}.`)
  return problems
}

/** The first part of a path that Windows would refuse, or take for something else. */
function windowsProblem(text: string): string | undefined {
  const parts = text.replace(/^[a-z]:/i, '').split(/[/\\]/)
  const isRefused = (part: string) =>
    /[<>:"|?*]/.test(part) || isDeviceName(part) || (/[. ]$/.test(part) && !/^\.\.?$/.test(part))
  const found = parts.find(isRefused)
  return found === undefined ? undefined : JSON.stringify(found)
}

interface PlannedFile {
  readonly path: string
  /** A name that is taken is no problem: another will be found. */
  readonly mayBeTaken: boolean
}

/** What would keep files from being written: each that exists, and for each folder the first other trouble. */
async function placeProblems(
  context: Context,
  files: readonly PlannedFile[],
  force: boolean,
): Promise<ModelgateError[]> {
  const problems: ModelgateError[] = []
  /** Folders that have been tried, and whether a problem with them has been reported. */
  const folders = new Map<string, boolean>()
  for (const { path, mayBeTaken } of files) {
    const folder = dirname(path)
    const problem = folders.has(folder)
      ? await problemOf(() => findTarget(context, path, force, mayBeTaken))
      : await problemOf(() => tryToWrite(context, path, force, mayBeTaken))
    const isOnlyTaken = problem?.code === 'file_exists'
    const isReported = folders.get(folder) === true
    if (problem !== undefined && (isOnlyTaken || !isReported)) problems.push(problem)
    if (!isOnlyTaken) folders.set(folder, isReported || problem !== undefined)
  }
  return problems
}

/** Creates a temporary file and removes it: only that shows whether a folder can be written. */
async function tryToWrite(
  context: Context,
  path: string,
  force: boolean,
  mayBeTaken: boolean,
): Promise<void> {
  const target = await findTarget(context, path, force, mayBeTaken)
  // Opening a named pipe would wait for its reader.
  if (target.kind === 'stream') return
  const file = await openAtomicFile(context, path, { force, spareName: String })
  await file.discard()
}

async function problemOf(step: () => Promise<unknown>): Promise<ModelgateError | undefined> {
  try {
    await step()
    return undefined
  } catch (error) {
    if (error instanceof ModelgateError) return error
    throw error
  }
}
