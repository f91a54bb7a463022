import { join } from 'node:path'
import type { FileContext } from '../../context.ts'
import { ModelgateError, UsageError } from '../../errors.ts'
import { shownPath } from '../../files/file-error.ts'
import { decodeText, readInputFile } from '../../files/input-file.ts'
import { canonicalText } from '../lock/canonical-form.ts'
import { referencesOf, type Instance } from '../manifest/manifest.ts'
import { digestOfInput } from '../store/file-digest.ts'
import type { UpstreamResult } from './task.ts'

export interface TaskInputs {
  /** The manifest's folder, absolute. */
  readonly folder: string
  /**
   * What each reference of the instance stands for, by its text. One that is not there is still to be made: its files
   * are left out.
   */
  readonly upstream: ReadonlyMap<string, UpstreamResult>
}

/** A file that goes into a request. */
export interface GivenFile {
  /** Relative to the manifest's folder, or absolute: what another instance made. */
  readonly path: string
  readonly role: string | null
}

/** The files of a field, in their order; those of a reference in the order of its outputs. */
export function filesOf({ fields }: Instance, name: string, { folder, upstream }: TaskInputs): GivenFile[] {
  const field = fields[name]
  if (field?.kind !== 'files') return []
  return field.files.flatMap(({ source, role }) => {
    // A name such as `C:x` or `http:x` stays a path.
    if ('path' in source)
      return [{ path: /^[\w+.-]+:/.test(source.path) ? join(folder, source.path) : source.path, role }]
    return (upstream.get(source.reference.text)?.files ?? []).map(({ path }) => ({ path, role }))
  })
}

/**
 * Compares the input files of an instance with what its key was computed of: else a result would be locked as that of
 * other files.
 * @param digestBefore SHA-256 of a file at that time
 * @throws UsageError with every file that has changed; FileError
 */
export async function refuseChanged(
  { fields }: Instance,
  folder: string,
  digestBefore: (path: string) => Promise<string>,
): Promise<void> {
  const changed: string[] = []
  for (const field of Object.values(fields)) {
    for (const { source } of field.kind === 'files' ? field.files : []) {
      if (!('path' in source)) continue
      const { path } = source
      const now = await digestOfInput(join(folder, path))
      if (now?.sha256 !== (await digestBefore(path))) changed.push(`${path} has changed since the run began.`)
    }
  }
  if (changed.length === 0) return
  throw new UsageError(changed, {
    code: 'input_changed',
    hint: 'Run it again: the file is a part of the request.',
  })
}

/**
 * The text of a field: as it is written, or what another instance has made; undefined for what is no text.
 * @throws UsageError for a result that is no text; FileError for one that cannot be read
 */
export async function textOf(
  context: FileContext,
  { fields }: Instance,
  name: string,
  { upstream }: TaskInputs,
): Promise<string | undefined> {
  const field = fields[name]
  if (field?.kind === 'text') return field.text
  if (field?.kind !== 'text of') return undefined
  const { reference } = field
  const [file, ...others] = upstream.get(reference.text)?.files ?? []
  if (file === undefined || others.length > 0) {
    throw new UsageError(
      `${name}: ${reference.text} stands for ${others.length + (file ? 1 : 0)} files, not one text.`,
    )
  }
  const content = await readInputFile(context, file.path)
  if (content instanceof ModelgateError) throw content.amend({ message: `${name}: ${content.message}` })
  const { text } = decodeText(content)
  if (text !== undefined) return canonicalText(text)
  throw new UsageError(`${name}: ${shownPath(file.path)} is not a text in UTF-8.`, { code: 'not_utf8' })
}

/** The remote job of a video to remix: by its id, or of the instance that made it. */
export function sourceOf({ fields }: Instance, { upstream }: TaskInputs): string | undefined {
  const field = fields['source']
  if (field === undefined) return undefined
  if (field.kind === 'value') return typeof field.value === 'string' ? field.value : undefined
  if (field.kind === 'text') return field.text
  const [reference] = referencesOf(field)
  if (reference === undefined) return undefined
  return upstream.get(reference.text)?.jobId ?? undefined
}
