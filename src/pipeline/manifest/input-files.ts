import { existsSync, realpathSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { FileContext } from '../../context.ts'
import { modelCalled, type ModelFamilies } from '../../contract/known-models.ts'
import { ModelgateError } from '../../errors.ts'
import { shownPath } from '../../files/file-error.ts'
import { decodeText, describeInputFile, readInputFile } from '../../files/input-file.ts'
import { sniffMediaType } from '../../files/media-type.ts'
import { parseJson } from '../../files/parse-json.ts'
import { readImageFile, sourceProblems } from '../../operations/image-sources.ts'
import { isProblem } from '../../problems.ts'
import { canonicalText } from '../lock/canonical-form.ts'
import { sourcesOf, type Instance } from './manifest.ts'
import { createLocator, type Position } from './mistakes.ts'

/** Why a file cannot be used, a sentence; `at` is a place in the file itself. */
interface FileProblem {
  readonly problem: string
  readonly at?: Position | undefined
}

export type Found<Value> = { readonly value: Value; readonly problem?: undefined } | FileProblem

export const maxTextBytes = 32 * 1024 * 1024

export type InputFiles = ReturnType<typeof createInputFiles>

/** The files that a manifest names, each read once. @param secretIn says what looks like a secret: such a file is not sent */
export function createInputFiles(
  context: FileContext,
  folder: string,
  secretIn: (text: string) => string | undefined,
  families: ModelFamilies,
) {
  const inFolder: FileContext = { ...context, cwd: folder }
  const refusalOf = createInputBoundary(folder)
  /** A path as the user knows it: relative to the working directory. */
  const shown = (path: string) => relative(context.cwd, resolve(folder, path))
  const rows = once(async (path): Promise<Found<string>> => {
    const refusal = refusalOf(path)
    return refusal === undefined
      ? await readText(inFolder, path, shown(path), maxTextBytes)
      : { problem: refusal }
  })
  const secretProblem = once(async (path): Promise<FileProblem | undefined> => {
    const found = await rows(path)
    const secret = found.problem === undefined ? secretIn(found.value) : undefined
    return secret === undefined ? undefined : { problem: `${JSON.stringify(path)} has ${secret} in it.` }
  })
  return {
    shown,
    rows,
    text: async (path: string): Promise<Found<string>> => (await secretProblem(path)) ?? rows(path),
    json: once(async (path): Promise<Found<unknown>> => {
      const found = await rows(path)
      if (found.problem !== undefined) return found
      const { value, problem } = parseJson(found.value)
      if (problem !== undefined) return { problem: `${shownPath(path)} ${problem}.` }
      return (await secretProblem(path)) ?? { value }
    }),
    mediaType: once(async (path): Promise<Found<string | null>> => {
      const refusal = refusalOf(path)
      if (refusal !== undefined) return { problem: refusal }
      const file = await describeInputFile(inFolder, path, { pipes: false })
      if (file instanceof ModelgateError) return { problem: file.message }
      if (isPointer(file.head)) return { problem: pointerProblem(path) }
      const value = sniffMediaType(file.head) ?? null
      return (value === 'text/plain' ? await secretProblem(path) : undefined) ?? { value }
    }),
    sourceProblems: createSourceCheck(inFolder, families),
  }
}

/** A text file in UTF-8, as `canonicalText`. @param shown the path as the user knows it */
export async function readText(
  context: FileContext,
  path: string,
  shown: string,
  maxBytes: number,
): Promise<Found<string>> {
  const bytes = await readInputFile(context, path, { maxBytes, pipes: false })
  if (bytes instanceof ModelgateError) return { problem: bytes.message }
  if (isPointer(bytes)) return { problem: pointerProblem(path) }
  const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)
  const fault = (problem: string, before: string): FileProblem => ({
    problem: `${shownPath(path)} ${problem}`,
    at: { file: shown, ...createLocator(before)(before.length) },
  })
  if (isUtf16) return fault('is UTF-16: save it as UTF-8.', '')
  const { text, offset = 0 } = decodeText(bytes)
  if (text === undefined) {
    const byte = (bytes[offset] ?? 0).toString(16).padStart(2, '0')
    const before = Buffer.from(bytes.subarray(0, offset)).toString()
    return fault(`is not UTF-8: the byte 0x${byte} begins no character.`, before)
  }
  const value = canonicalText(text)
  // What a merge has left undecided would be sent, and paid for.
  const conflict = /^<{7} .*\n[^]*?^={7}$[^]*?^>{7} /m.exec(value)
  if (conflict === null) return { value }
  return fault('has conflict markers of a merge: resolve them first.', value.slice(0, conflict.index))
}

/** Reads what is at each path only once. */
export function once<Value>(read: (path: string) => Promise<Value>): (path: string) => Promise<Value> {
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
function createSourceCheck(context: FileContext, families: ModelFamilies) {
  const image = once((path) => readImageFile(context, { field: 'image', name: 'image' }, path))
  const maskAt = once((path) => readImageFile(context, { field: 'mask', name: 'mask' }, path))
  const masks = new Map<string, Promise<readonly string[]>>()
  return async ({ command, fields, model: id }: Instance): Promise<readonly string[]> => {
    if (command !== 'image edit') return []
    const model = { id: id ?? '', family: id === null ? undefined : modelCalled(id, families).family }
    const pathsOf = (field: string) =>
      sourcesOf(fields[field]).flatMap((source) => ('path' in source ? source.path : []))
    try {
      const images = await Promise.all(pathsOf('image').map(image))
      const [mask] = await Promise.all(pathsOf('mask').map(maskAt))
      const found = await sourceProblems(images, model)
      if (mask === undefined) return found
      const [source] = sourcesOf(fields['image'])
      const first = source !== undefined && 'path' in source ? images.slice(0, 1) : []
      const { width, height } = first[0]?.info ?? {}
      const key = JSON.stringify([mask.label, width, height])
      const ofMask = masks.get(key) ?? sourceProblems([...first, mask], { id: '', family: undefined })
      masks.set(key, ofMask)
      return [...found, ...(await ofMask)]
    } catch (error) {
      if (!isProblem(error)) throw error
      return [error.message]
    }
  }
}

const pointer = 'version https://git-lfs.github.com/spec/'

function isPointer(head: Uint8Array): boolean {
  return Buffer.from(head.subarray(0, pointer.length)).toString('latin1') === pointer
}

function pointerProblem(path: string): string {
  return `${shownPath(path)} is a Git LFS pointer in place of the file: fetch it with git lfs pull.`
}

/**
 * The manifest of a cloned repository must not be able to send the files of whoever runs it: inputs lie in the repository
 * that holds the manifest, or in the manifest's folder where there is none, also when links are followed.
 */
function createInputBoundary(folder: string): (path: string) => string | undefined {
  const repository = repositoryOf(folder)
  const root = realPath(repository ?? folder)
  const from = realPath(folder)
  const place = repository === undefined ? "the manifest's folder" : "the manifest's repository"
  return (path) => {
    const shown = JSON.stringify(path)
    const way = relative(root, realPath(resolve(from, path)))
    const names = way.split(sep)
    if (names[0] === '..' || isAbsolute(way)) {
      return `${shown} is outside of ${place}: a manifest can only use files inside it.`
    }
    // It may hold credentials.
    const isGit = names.some((name) => name.toLowerCase() === '.git')
    return isGit ? `${shown} is in .git, which no manifest can use.` : undefined
  }
}

function repositoryOf(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return at
    if (dirname(at) === at) return undefined
  }
}

/** The path itself where it leads to nothing. In this thread, because it is asked of each of many files. */
function realPath(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return path
  }
}
