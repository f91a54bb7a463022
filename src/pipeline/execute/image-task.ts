import { modelCalled } from '../../contract/known-models.ts'
import { UsageError } from '../../errors.ts'
import { objectOf, stringOf } from '../../json.ts'
import { imageRequest, type ImagePlan } from '../../operations/image-request.ts'
import { readImageFile, sourceProblems } from '../../operations/image-sources.ts'
import { fetchImages, makeImages } from '../../operations/make-images.ts'
import { allInputs, createProblemList } from '../../problems.ts'
import { fileTemplate, mediaFacts, wholeResult, type Made, type TaskRun } from './task.ts'

const plan: ImagePlan = {
  output: fileTemplate,
  force: true,
  download: true,
  // `run` compares when it keeps the result.
  acceptMismatch: true,
}

export async function makeImage({ task, call, shared }: TaskRun): Promise<Made> {
  const { instance } = task
  const command = instance.command === 'image edit' ? 'image edit' : 'image create'
  const { body, images, mask } = await task.request()
  const context = { ...call.context, cwd: shared.project.folder }
  const read = (field: 'image' | 'mask', paths: readonly string[]) =>
    allInputs(paths.map((path) => readImageFile(context, { field, name: field }, path)))
  const sources = [...(await read('image', images)), ...(await read('mask', mask === null ? [] : [mask]))]
  const model = stringOf(body['model']) ?? null
  const family = model === null ? undefined : modelCalled(model, shared.families).family
  // What other instances have made was not there when the manifest was checked.
  const problems = await sourceProblems(sources, { id: model ?? '', family })
  if (problems.length > 0) throw new UsageError(problems, { code: 'invalid_request' })
  const list = createProblemList()
  const parts = { command, model, body, sources, warnings: [] } as const
  const request = await imageRequest(call.context, parts, plan, list)
  list.throwIfAny()
  const outcome =
    task.made === null
      ? await makeImages(call, request, { ...plan, onMade: (made) => task.onMade(made) })
      : await fetchImages(call, request, plan, task.made)
  const document = wholeResult(task, outcome)
  // More than were asked for may have arrived; they stay in the folder.
  const files = document.files.slice(0, request.wanted.length)
  return {
    outputs: await Promise.all(files.map(({ path }) => mediaFacts(call.context, path))),
    model: task.made?.model ?? stringOf(objectOf(document.response)['model']) ?? document.model,
    document,
  }
}
