import type { FileContext } from '../../context.ts'
import type { ModelFamilies } from '../../contract/known-models.ts'
import { ModelgateError } from '../../errors.ts'
import { shownPath } from '../../files/file-error.ts'
import { decodeText, describeInputFile, readInputFile } from '../../files/input-file.ts'
import { sniffMediaType } from '../../files/media-type.ts'
import { parseJson } from '../../files/parse-json.ts'
import { checkInputs } from '../execute/check-inputs.ts'
import { plainText } from './csv.ts'
import type { Instance } from './manifest.ts'

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
}

/** Bounds of a text that is named in a manifest, in bytes. */
const maxTextBytes = 32 * 1024 * 1024

/** Media may be as large as a request. */
export function createInputFiles(context: FileContext, folder: string): InputFiles {
  const inFolder: FileContext = { ...context, cwd: folder }
  const text = once((path) => readText(inFolder, path, maxTextBytes))
  return {
    text,
    json: once(async (path): Promise<Found<unknown>> => {
      const found = await text(path)
      if (found.problem !== undefined) return found
      const { value, problem } = parseJson(found.value)
      return problem === undefined ? { value } : { problem: `${shownPath(path)} ${problem}.` }
    }),
    mediaType: once(async (path): Promise<Found<string | null>> => {
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
 * Checks the pictures of an edit that are there against the limits of its model's family, each set of pictures once.
 * Nothing is said of those that other instances make.
 * @returns finds what is wrong, each a sentence that begins with the field
 */
export function createSourceCheck(
  context: FileContext,
  folder: string,
  families: ModelFamilies,
): (instance: Instance) => Promise<readonly string[]> {
  const known = new Map<string, Promise<readonly string[]>>()
  return async (instance) => {
    const { command, fields, model, references } = instance
    // The file of an import may be restored later.
    const isImported = references.some(({ kind }) => kind === 'import')
    if (command !== 'image edit' || isImported) return []
    const key = JSON.stringify([model, fields['image'], fields['mask']])
    const found = known.get(key) ?? checkInputs(context, instance, { folder, upstream: new Map() }, families)
    known.set(key, found)
    return found
  }
}

function textOf(path: string, bytes: Uint8Array): Found<string> {
  if (isPointer(bytes)) return { problem: pointerProblem(path) }
  const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)
  if (isUtf16) return { problem: `${shownPath(path)} is UTF-16: save it as UTF-8.`, line: 1, column: 1 }
  const { text, invalid } = decodeText(bytes)
  if (text !== undefined) return { value: plainText(text) }
  const before = Buffer.from(bytes.subarray(0, invalid.offset)).toString()
  const lines = before.split('\n')
  const byte = (invalid.byte ?? 0).toString(16).padStart(2, '0')
  return {
    problem: `${shownPath(path)} is not UTF-8: the byte 0x${byte} begins no character.`,
    line: lines.length,
    column: [...lines.at(-1)!].length + 1,
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
