import type { FileContext } from '../../context.ts'
import { videoReferenceTypes } from '../../contract/videos.ts'
import { readAttachment, type Attachment } from '../../operations/attachments.ts'
import type { Body } from '../../operations/operation.ts'
import { readPicture, readVideo, type InstanceMedia } from '../../operations/video-request.ts'
import { allInputs } from '../../problems.ts'
import { bodyWith } from '../manifest/instance-body.ts'
import type { Instance } from '../manifest/manifest.ts'
import { createNormaliser } from '../store/file-digest.ts'
import { filesOf, sourceOf, textOf, type TaskInputs } from './task-inputs.ts'
import type { TaskRequest } from './task.ts'

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
