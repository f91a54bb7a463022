import { join } from 'node:path'
import type { FileContext } from '../../context.ts'
import { videoReferenceTypes } from '../../contract/videos.ts'
import { ModelgateError, UsageError } from '../../errors.ts'
import { shownPath } from '../../files/file-error.ts'
import { decodeText, readInputFile } from '../../files/input-file.ts'
import { readAttachment, type Attachment } from '../../operations/attachments.ts'
import type { Body } from '../../operations/operation.ts'
import { readPicture, readVideo, type InstanceMedia } from '../../operations/video-request.ts'
import { allInputs } from '../../problems.ts'
import { canonicalText } from '../lock/canonical-form.ts'
import { bodyWith } from '../manifest/instance-body.ts'
import { referencesOf, type Instance } from '../manifest/manifest.ts'
import { createNormaliser, digestOfInput } from '../store/file-digest.ts'
import type { TaskRequest, UpstreamResult } from './task.ts'

/**
 * Builds the request of an instance: in the same way for this process and for a worker.
 * @throws UsageError, FileError with everything that is wrong with the files
 */
export async function buildRequest(
  context: FileContext,
  instance: Instance,
  inputs: TaskInputs,
): Promise<TaskRequest> {
  const isEdit = instance.command === 'image edit'
  const paths = (field: string) => (isEdit ? filesOf(instance, field, inputs).map(({ path }) => path) : [])
  return {
    body: await requestBody(context, instance, inputs),
    images: paths('image'),
    mask: paths('mask')[0] ?? null,
    source: sourceOf(instance, inputs) ?? null,
  }
}

/**
 * The body of an instance's request, with all texts and files in it; the sources of an image are not a part of it.
 * @throws UsageError, FileError with everything that is wrong with the files
 */
export async function requestBody(
  context: FileContext,
  instance: Instance,
  inputs: TaskInputs,
): Promise<Body> {
  const names = Object.keys(instance.fields)
  const read = names.map(async (name) => [name, await textOf(context, instance, name, inputs)] as const)
  const texts = new Map<string, string>()
  for (const [name, text] of await allInputs(read)) if (text !== undefined) texts.set(name, text)
  // Relative paths are those of the manifest.
  const reader = { ...context, cwd: inputs.folder }
  const attached = filesOf(instance, 'attach', inputs)
  const attachments = await allInputs(
    attached.map(async ({ path }) => withLineFeeds(await readAttachment(reader, path))),
  )
  const media = instance.command === 'video generate' ? await readMedia(reader, instance, inputs) : {}
  return bodyWith(instance, { texts, attachments, media })
}

/** A text is sent as its digest in the key is taken: without byte-order mark, with LF at the end of its lines. */
function withLineFeeds(attachment: Attachment): Attachment {
  if (attachment.kind !== 'file' || attachment.mediaType !== 'text/plain') return attachment
  const normalise = createNormaliser({ crlf: true, mark: true })
  const text = normalise(Buffer.from(attachment.base64(), 'base64'), true)
  return { ...attachment, base64: () => text.toString('base64') }
}

async function readMedia(
  context: FileContext,
  instance: Instance,
  inputs: TaskInputs,
): Promise<InstanceMedia> {
  const picture = (label: string, path: string) => readPicture(context, { label, path })
  const [first] = filesOf(instance, 'image', inputs)
  const [last] = filesOf(instance, 'last_frame', inputs)
  const [video] = filesOf(instance, 'video', inputs)
  const references = filesOf(instance, 'reference', inputs).map(async ({ path, role }) => ({
    image: await picture('reference', path),
    referenceType: role ?? videoReferenceTypes[0],
  }))
  const parts: Promise<InstanceMedia>[] = [
    ...(first === undefined ? [] : [picture('image', first.path).then((image) => ({ image }))]),
    ...(last === undefined ? [] : [picture('last_frame', last.path).then((lastFrame) => ({ lastFrame }))]),
    ...(references.length === 0
      ? []
      : [allInputs(references).then((referenceImages) => ({ referenceImages }))]),
    ...(video === undefined
      ? []
      : [readVideo(context, { label: 'video', path: video.path }).then((found) => ({ video: found }))]),
  ]
  return Object.assign({}, ...(await allInputs(parts))) as InstanceMedia
}

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
function filesOf({ fields }: Instance, name: string, { folder, upstream }: TaskInputs): GivenFile[] {
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
async function textOf(
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
function sourceOf({ fields }: Instance, { upstream }: TaskInputs): string | undefined {
  const field = fields['source']
  if (field === undefined) return undefined
  if (field.kind === 'value') return typeof field.value === 'string' ? field.value : undefined
  if (field.kind === 'text') return field.text
  const [reference] = referencesOf(field)
  if (reference === undefined) return undefined
  return upstream.get(reference.text)?.jobId ?? undefined
}
