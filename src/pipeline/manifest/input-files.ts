import { existsSync, realpathSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { FileContext } from '../../context.ts'
import { modelCalled, type ModelFamilies } from '../../contract/known-models.ts'
import { ModelgateError } from '../../errors.ts'
import { shownPath } from '../../files/file-error.ts'
import { decodeText, describeInputFile, readInputFile } from '../../files/input-file.ts'
import { sniffMediaType } from '../../files/media-type.ts'
import { parseJson } from '../../files/parse-json.ts'
import { readImageFile, sourceProblems, type ImageSource } from '../../operations/image-sources.ts'
import { isProblem } from '../../problems.ts'
import { canonicalText } from '../lock/canonical-form.ts'
import type { Instance } from './manifest.ts'
import { createLocator } from './mistakes.ts'

/** Why a file cannot be used: a sentence, and for a place in the file itself line and column, from 1. */
export interface FileProblem {
  readonly problem: string
  readonly line?: number
  readonly column?: number
}

export type Found<Value> = { readonly value: Value; readonly problem?: undefined } | FileProblem

/** The files that a manifest names, each read once. Paths are relative to its folder, or absolute. */
export interface InputFiles {
  /** A text: UTF-8, without byte-order mark, with LF. */
  text(path: string): Promise<Found<string>>
  json(path: string): Promise<Found<unknown>>
  /** The media type that the first bytes show; null for an unknown one. */
  mediaType(path: string): Promise<Found<string | null>>
  /** Why a path may not be read at all, as `createInputBoundary` says. */
  refusalOf(path: string): string | undefined
}

/** Bounds of a text that is named in a manifest, in bytes. */
const maxTextBytes = 32 * 1024 * 1024

/** Media may be as large as a request. */
export function createInputFiles(context: FileContext, folder: string): InputFiles {
  const inFolder: FileContext = { ...context, cwd: folder }
  const refusalOf = createInputBoundary(folder)
  const text = once(async (path): Promise<Found<string>> => {
    const refusal = refusalOf(path)
    return refusal === undefined ? await readText(inFolder, path, maxTextBytes) : { problem: refusal }
  })
  return {
    refusalOf,
    text,
    json: once(async (path): Promise<Found<unknown>> => {
      const found = await text(path)
      if (found.problem !== undefined) return found
      const { value, problem } = parseJson(found.value)
      return problem === undefined ? { value } : { problem: `${shownPath(path)} ${problem}.` }
    }),
    mediaType: once(async (path): Promise<Found<string | null>> => {
      const refusal = refusalOf(path)
      if (refusal !== undefined) return { problem: refusal }
      const file = await describeInputFile(inFolder, path, { pipes: false })
      if (file instanceof ModelgateError) return { problem: file.message }
      return isPointer(file.head)
        ? { problem: pointerProblem(path) }
        : { value: sniffMediaType(file.head) ?? null }
    }),
  }
}

/** A text file: UTF-8, its byte-order mark taken off, with LF. */
export async function readText(context: FileContext, path: string, maxBytes: number): Promise<Found<string>> {
  const bytes = await readInputFile(context, path, { maxBytes, pipes: false })
  return bytes instanceof ModelgateError ? { problem: bytes.message } : textOf(path, bytes)
}

function once<Value>(read: (path: string) => Promise<Value>): (path: string) => Promise<Value> {
  const known = new Map<string, Promise<Value>>()
  return (path) => {
    const found = known.get(path) ?? read(path)
    known.set(path, found)
    return found
  }
}

/**
 * Checks the pictures of an edit that are there against the limits of its model's family. Nothing is said of those that
 * other instances make. Each picture is read once, and each mask for each size of picture: reading one takes long.
 * @returns finds what is wrong, each a sentence that begins with the field
 */
export function createSourceCheck(
  context: FileContext,
  folder: string,
  families: ModelFamilies,
): (instance: Instance) => Promise<readonly string[]> {
  const inFolder: FileContext = { ...context, cwd: folder }
  const sourceReader = (field: 'image' | 'mask') =>
    once((path) => readImageFile(inFolder, { field, name: field }, path))
  const readers = { image: sourceReader('image'), mask: sourceReader('mask') }
  const masks = new Map<string, Promise<readonly string[]>>()
  const checkMask = (mask: ImageSource, first: ImageSource | undefined, model: CheckedModel) => {
    const { width, height } = first?.info ?? {}
    const key = JSON.stringify([mask.label, width, height, model.id])
    const found = masks.get(key) ?? sourceProblems(first === undefined ? [] : [first], mask, model)
    masks.set(key, found)
    return found
  }
  return async ({ command, fields, model: id }) => {
    if (command !== 'image edit') return []
    const model = { id: id ?? '', family: id === null ? undefined : modelCalled(id, families).family }
    const read = async (field: 'image' | 'mask') => {
      const value = fields[field]
      const files = value?.kind === 'files' ? value.files : []
      const paths = files.flatMap(({ source }) => ('path' in source ? [source.path] : []))
      const sources = await Promise.all(paths.map(readers[field]))
      return { sources, isWhole: paths.length === files.length }
    }
    try {
      const [images, masked] = [await read('image'), await read('mask')]
      const [mask] = masked.sources
      const together = images.isWhole ? [images.sources] : images.sources.map((image) => [image])
      const found = await Promise.all(together.map((some) => sourceProblems(some, undefined, model)))
      const first = images.isWhole ? images.sources[0] : undefined
      return [...found.flat(), ...(mask === undefined ? [] : await checkMask(mask, first, model))]
    } catch (error) {
      if (!isProblem(error)) throw error
      return [error.message]
    }
  }
}

type CheckedModel = Parameters<typeof sourceProblems>[2]

function textOf(path: string, bytes: Uint8Array): Found<string> {
  if (isPointer(bytes)) return { problem: pointerProblem(path) }
  const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)
  if (isUtf16) return { problem: `${shownPath(path)} is UTF-16: save it as UTF-8.`, line: 1, column: 1 }
  const { text, invalid } = decodeText(bytes)
  if (text !== undefined) return textWithoutConflict(path, canonicalText(text))
  const before = Buffer.from(bytes.subarray(0, invalid.offset)).toString()
  const byte = (invalid.byte ?? 0).toString(16).padStart(2, '0')
  return {
    problem: `${shownPath(path)} is not UTF-8: the byte 0x${byte} begins no character.`,
    ...createLocator(before)(before.length),
  }
}

/** What a merge has left undecided would be sent, and paid for. */
function textWithoutConflict(path: string, value: string): Found<string> {
  const conflict = /^<{7} .*\n[^]*?^={7}$[^]*?^>{7} /m.exec(value)
  if (conflict === null) return { value }
  const line = value.slice(0, conflict.index).split('\n').length
  return {
    problem: `${shownPath(path)} has conflict markers of a merge: resolve them first.`,
    line,
    column: 1,
  }
}

const pointer = 'version https://git-lfs.github.com/spec/'

/** Whether it is what Git has in place of a large file that was not fetched. */
function isPointer(head: Uint8Array): boolean {
  return Buffer.from(head.subarray(0, pointer.length)).toString('latin1') === pointer
}

function pointerProblem(path: string): string {
  return `${shownPath(path)} is a Git LFS pointer in place of the file: fetch it with git lfs pull.`
}

/**
 * Finds out whether an input may be read: the manifest of a cloned repository must not be able to send the files of whoever
 * runs it. Inputs lie in the repository that holds the manifest, or in the manifest's folder where there is none, and stay
 * there when links are followed.
 * @param folder the manifest's, absolute
 * @returns says of a path, relative to the folder, why it may not be read: a sentence; nothing for one that may, or that
 * leads to no file
 */
function createInputBoundary(folder: string): (path: string) => string | undefined {
  const repository = repositoryOf(folder)
  const root = repository ?? folder
  const realRoot = realPath(root) ?? root
  const known = new Map<string, string | undefined>()
  const place = repository === undefined ? "the manifest's folder" : "the manifest's repository"
  const problemOf = (path: string) => {
    const shown = JSON.stringify(path)
    const absolute = resolve(folder, path)
    const lies = relationOf(root, absolute)
    if (lies === 'outside') return `${shown} is outside of ${place}: a manifest can only use files inside it.`
    const real = realPath(absolute)
    const leads = real === undefined ? lies : relationOf(realRoot, real)
    if (leads === 'outside') {
      return `${shown} is a link out of ${place}: a manifest can only use files inside it.`
    }
    // It may hold credentials.
    return leads === 'git' ? `${shown} is in .git, which no manifest can use.` : undefined
  }
  return (path) => {
    if (!known.has(path)) known.set(path, problemOf(path))
    return known.get(path)
  }
}

/** The nearest folder with `.git`, which is a file in a worktree or a submodule; from the given one upwards. */
function repositoryOf(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return at
    if (dirname(at) === at) return undefined
  }
}

function relationOf(root: string, path: string): 'inside' | 'outside' | 'git' {
  const way = relative(root, path)
  const names = way.split(sep)
  if (names[0] === '..' || isAbsolute(way)) return 'outside'
  return names.some((name) => name.toLowerCase() === '.git') ? 'git' : 'inside'
}

/** In this thread, because it is asked of each of many files. */
function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined
  }
}
