import { join } from 'node:path'
import type { FileContext } from '../../context.ts'
import { creatingCommands } from '../../contract/commands.ts'
import { videoReferenceTypes } from '../../contract/videos.ts'
import type { Creation } from '../../cost/creation.ts'
import { ModelgateError, UsageError } from '../../errors.ts'
import { shownPath } from '../../files/file-error.ts'
import { decodeText, readInputFile } from '../../files/input-file.ts'
import { isObject, stringOf } from '../../json.ts'
import { readAttachment, type Attachment } from '../../operations/attachments.ts'
import { addMessage } from '../../operations/content-request.ts'
import { textCreation } from '../../operations/generate-text.ts'
import { imageCreation } from '../../operations/image-request.ts'
import type { Body } from '../../operations/operation.ts'
import { addInput, schemaFormat } from '../../operations/response-request.ts'
import {
  addInstance,
  readPicture,
  readVideo,
  videoCount,
  videoCreation,
  type InstanceMedia,
} from '../../operations/video-request.ts'
import { allInputs } from '../../problems.ts'
import { canonicalText } from '../lock/canonical-form.ts'
import { digestOfInput, inputText } from '../store/file-digest.ts'
import { fieldsOf } from './manifest-fields.ts'
import { shownSource, sourcesOf, type FieldValue, type Instance } from './manifest.ts'

export interface TaskRequest {
  readonly body: Body
  /** The pictures of an edit, which travel beside the body: absolute, or relative to the project's folder. */
  readonly images: readonly string[]
  readonly mask: string | null
  /** The id of the video to remix; null where the gateway is not known to have it. */
  readonly source: string | null
}

/** What a reference of an instance stands for: absolute paths of files whose digests have been checked. */
export interface UpstreamResult {
  readonly files: readonly string[]
  readonly jobId: string | null
}

/** What is read for a body; texts are what other instances have made, by the fields that take them. */
interface Contents {
  readonly texts: ReadonlyMap<string, string>
  readonly attachments: readonly Attachment[]
  readonly media: InstanceMedia
}

const nothingRead: Contents = { texts: new Map(), attachments: [], media: {} }

/**
 * The body of an instance's request, the one that is checked, sent and given to a worker; without the pictures of an edit.
 * @param contents by default nothing, as the body is checked: without files, and with stand-ins for texts
 * @throws UsageError for fields that exclude each other
 */
export function bodyOf(instance: Instance, contents: Contents = nothingRead): Body {
  const { texts, attachments, media } = contents
  const standIn = contents === nothingRead ? '…' : undefined
  const { command, fields, model } = instance
  const body: Body = {}
  const contract = creatingCommands[command]
  const message = contract.prompt.name
  const textOf = (name: string) => {
    const field = fields[name]
    return field?.kind === 'text' ? (field.text ?? texts.get(name) ?? standIn) : undefined
  }
  for (const known of fieldsOf(command).values()) {
    if (!('path' in known) || known.path === null) continue
    const { name, path } = known
    const field = fields[name]
    const value = field?.kind === 'value' ? structuredClone(field.value) : textOf(name)
    // A text has its place beside what is attached.
    const isMessage = command === 'respond' && name === message && field?.kind === 'text'
    if (value !== undefined && !isMessage) setAt(body, path, value)
  }
  if (model !== null && contract.model.location === 'body') body['model'] ??= model
  const prompt = textOf(message)
  const schema = fields['schema']?.kind === 'value' ? fields['schema'].value : undefined
  if (command === 'generate') {
    const system = textOf('system')
    if (system !== undefined) body['systemInstruction'] = { parts: [{ text: system }] }
    if (schema !== undefined) {
      setAt(body, ['generationConfig', 'responseMimeType'], 'application/json')
      setAt(body, ['generationConfig', 'responseJsonSchema'], schema)
    }
    addMessage(body, attachments, prompt)
  } else if (command === 'respond') {
    if (schema !== undefined) setAt(body, ['text', 'format'], schemaFormat(schema))
    addInput(body, attachments, prompt)
  } else if (command === 'video generate') {
    body['parameters'] ??= {}
    addInstance(body, prompt, media)
  }
  return body
}

/** Sets a value inside the body, with the objects around it. What is no object stays, for the contract's check. */
function setAt(body: Body, [name, ...rest]: readonly string[], value: unknown): void {
  if (name === undefined) return
  if (rest.length === 0) body[name] = value
  else {
    body[name] ??= {}
    if (isObject(body[name])) setAt(body[name] as Body, rest, value)
  }
}

/** What one request creates, as far as its fields say: without its files, and texts that other instances make. */
export function creationOf(instance: Instance): Creation {
  const { command, lane, model, count } = instance
  const body = bodyOf(instance)
  if (lane === 'text' || command === 'generate') return textCreation({ model, body })
  if (lane === 'video') return videoCreation({ model: model ?? '', body, count })
  return imageCreation(model, body, count)
}

export function outputCount({ lane }: Pick<Instance, 'lane'>, body: Body): number {
  if (lane === 'video') return 'instances' in body ? videoCount(body) : 1
  const { n } = body
  return lane === 'image' && typeof n === 'number' && n >= 1 ? Math.floor(n) : 1
}

/** What each reference stands for, by its text. The files of one that is not there are left out. */
type Upstream = ReadonlyMap<string, UpstreamResult>

/** With all texts and files in it. @throws UsageError, FileError with everything that is wrong with the files */
export async function buildRequest(
  context: FileContext,
  instance: Instance,
  { folder, upstream }: { readonly folder: string; readonly upstream: Upstream },
): Promise<TaskRequest> {
  const { command, fields } = instance
  const files = (name: string) => filesOf(fields[name], upstream)
  const reader = { ...context, cwd: folder }
  const texts = Object.entries(fields).flatMap(([name, field]) => {
    const [source] = field.kind === 'text' && field.text === null ? sourcesOf(field) : []
    return source === undefined ? [] : readMade(context, name, shownSource(source), upstream)
  })
  const made = new Map(await allInputs(texts))
  const attachments = await allInputs(files('attach').map(({ path }) => attachmentOf(reader, path)))
  const media = command === 'video generate' ? await readMedia(reader, files) : {}
  const paths = (name: string) => (command === 'image edit' ? files(name).map(({ path }) => path) : [])
  return {
    body: bodyOf(instance, { texts: made, attachments, media }),
    images: paths('image'),
    mask: paths('mask')[0] ?? null,
    source: sourceOf(fields['source'], upstream),
  }
}

interface GivenFile {
  readonly path: string
  readonly role: string | null
}

function filesOf(field: FieldValue | undefined, upstream: Upstream): GivenFile[] {
  if (field?.kind !== 'files') return []
  return field.files.flatMap(({ source, role }) => {
    const paths = 'path' in source ? [source.path] : (upstream.get(source.reference.text)?.files ?? [])
    return paths.map((path) => ({ path, role }))
  })
}

async function readMade(context: FileContext, name: string, reference: string, upstream: Upstream) {
  const files = upstream.get(reference)?.files ?? []
  const [file] = files
  if (file === undefined || files.length > 1) {
    throw new UsageError(`${name}: ${reference} stands for ${files.length} files, not one text.`)
  }
  const content = await readInputFile(context, file)
  if (content instanceof ModelgateError) throw content.amend({ message: `${name}: ${content.message}` })
  const { text } = decodeText(content)
  if (text !== undefined) return [name, canonicalText(text)] as const
  throw new UsageError(`${name}: ${shownPath(file)} is not a text in UTF-8.`, { code: 'wrong_type' })
}

/** A text is sent as its digest in the key is taken: without byte-order mark, with LF at the end of its lines. */
async function attachmentOf(context: FileContext, path: string): Promise<Attachment> {
  const attachment = await readAttachment(context, path)
  if (attachment.kind !== 'file' || attachment.mediaType !== 'text/plain') return attachment
  return { ...attachment, content: inputText(attachment.content) }
}

async function readMedia(context: FileContext, files: (name: string) => readonly GivenFile[]) {
  const picture = (label: string, { path }: GivenFile) => readPicture(context, label, path)
  const references = files('reference').map(async (file) => ({
    image: await picture('reference', file),
    referenceType: file.role ?? videoReferenceTypes[0],
  }))
  const parts = await allInputs<InstanceMedia>([
    ...files('image').map(async (file) => ({ image: await picture('image', file) })),
    ...files('last_frame').map(async (file) => ({ lastFrame: await picture('last_frame', file) })),
    allInputs(references).then((read) => (read.length === 0 ? {} : { referenceImages: read })),
    ...files('video').map(async ({ path }) => ({
      video: await readVideo(context, 'video', path),
    })),
  ])
  return Object.assign({}, ...parts) as InstanceMedia
}

function sourceOf(field: FieldValue | undefined, upstream: Upstream): string | null {
  if (field?.kind === 'value') return stringOf(field.value) ?? null
  const [source] = sourcesOf(field)
  return source === undefined ? null : (upstream.get(shownSource(source))?.jobId ?? null)
}

/**
 * Else a result would be locked as that of other files.
 * @param digestBefore SHA-256 of a file when the key was computed
 * @throws UsageError with every file that has changed; FileError
 */
export async function refuseChanged(
  { fields }: Instance,
  folder: string,
  digestBefore: (path: string) => Promise<string>,
): Promise<void> {
  const files = Object.values(fields).filter(({ kind }) => kind === 'files')
  const changed: string[] = []
  for (const source of files.flatMap(sourcesOf)) {
    if (!('path' in source)) continue
    const now = await digestOfInput(join(folder, source.path))
    if (now?.sha256 === (await digestBefore(source.path))) continue
    changed.push(`${source.path} has changed since the run began.`)
  }
  if (changed.length === 0) return
  throw new UsageError(changed, {
    code: 'source_changed',
    hint: 'Run it again: the file is a part of the request.',
  })
}
