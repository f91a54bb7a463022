import type { FileContext } from '../../context.ts'
import { modelCalled, type ModelFamilies } from '../../contract/known-models.ts'
import { ModelgateError, UsageError } from '../../errors.ts'
import { shownPath } from '../../files/file-error.ts'
import { describeInputFile } from '../../files/input-file.ts'
import { sniffMediaType } from '../../files/media-type.ts'
import { readImageFile, sourceProblems, type ImageSource } from '../../operations/image-sources.ts'
import { allInputs, createProblemList } from '../../problems.ts'
import type { Instance } from '../manifest/manifest.ts'
import { contractOf } from './task-body.ts'
import { filesOf, hasMissing, textOf, type TaskInputs } from './task-inputs.ts'

/** The pictures that an image is made from. */
interface Sources {
  readonly images: readonly ImageSource[]
  readonly mask: ImageSource | undefined
}

/** @throws UsageError, FileError with every file that cannot be read */
export async function readSources(
  context: FileContext,
  instance: Instance,
  inputs: TaskInputs,
): Promise<Sources> {
  if (instance.command !== 'image edit') return { images: [], mask: undefined }
  const reader = { ...context, cwd: inputs.folder }
  const read = (field: 'image' | 'mask') =>
    allInputs(
      filesOf(instance, field, inputs).map(({ path }) => readImageFile(reader, { field, name: field }, path)),
    )
  const [images, [mask]] = await Promise.all([read('image'), read('mask')])
  return { images, mask }
}

/** What is wrong with the pictures of an edit, each a sentence. @param model null where the gateway chooses */
export async function sourceSentences(
  { images, mask }: Sources,
  model: string | null,
  families: ModelFamilies,
): Promise<string[]> {
  if (images.length === 0 && mask === undefined) return []
  const family = model === null ? undefined : modelCalled(model, families).family
  return sourceProblems(images, mask, { id: model ?? '', family })
}

/**
 * What is wrong with the files of an instance, each a sentence: missing or unreadable ones, and what the model's limits
 * and the rules of masks do not allow. Nothing is sent. Files that are still to be made are left out.
 * @throws whatever is no problem of an input, such as the reason of the context's signal
 */
export async function checkInputs(
  context: FileContext,
  instance: Instance,
  inputs: TaskInputs,
  families: ModelFamilies,
): Promise<string[]> {
  const problems = createProblemList()
  const { check } = problems
  if (instance.command === 'image edit') {
    const sources = await check(() => readSources(context, instance, inputs))
    const found = sources === undefined ? [] : await editProblems(sources, instance, inputs, families)
    for (const problem of found) problems.add(new UsageError(problem))
  } else {
    const reader = { ...context, cwd: inputs.folder }
    for (const input of contractOf(instance).inputs) {
      const media = 'media' in input ? input.media : null
      const name = input.name.replaceAll('-', '_')
      for (const { path } of filesOf(instance, name, inputs)) {
        await check(() => checkFile(reader, { name, path, media }))
      }
    }
  }
  for (const [name, field] of Object.entries(instance.fields)) {
    const isMade = field.kind === 'text of' && inputs.upstream.has(field.reference.text)
    if (isMade) await check(() => textOf(context, instance, name, inputs))
  }
  return problems.all.map(({ message }) => message)
}

/** With a picture that is still to be made, nothing can be said of how they go together. */
async function editProblems(
  sources: Sources,
  instance: Instance,
  inputs: TaskInputs,
  families: ModelFamilies,
): Promise<string[]> {
  const { images, mask } = sources
  if (!hasMissing(instance, inputs)) return sourceSentences(sources, instance.model, families)
  const apart: Sources[] = [
    ...images.map((image) => ({ images: [image], mask: undefined })),
    { images: [], mask },
  ]
  const found = apart.map((one) => sourceSentences(one, instance.model, families))
  return (await Promise.all(found)).flat()
}

interface CheckedFile {
  readonly name: string
  readonly path: string
  readonly media: 'image' | 'video' | null
}

/** @throws UsageError, FileError */
async function checkFile(context: FileContext, { name, path, media }: CheckedFile): Promise<void> {
  const file = await describeInputFile(context, path)
  if (file instanceof ModelgateError) throw file.amend({ message: `${name}: ${file.message}` })
  const found = sniffMediaType(file.head)
  if (media === null || found?.startsWith(`${media}/`)) return
  const noun = media === 'image' ? 'a picture' : 'a video'
  const actual = found === undefined ? '' : ` but ${found}`
  throw new UsageError(`${name} ${shownPath(path)} is not ${noun}${actual}.`)
}
